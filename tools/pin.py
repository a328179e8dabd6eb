"""Write constraints.txt: the exact version of every package that any extra brings in.

Here: asking pip what it would install on the oldest and on the newest Python that Pellucid supports, starting from the
pins that are already there, and writing that down.
Not here: installing (setup.sh).

Run ``make pin`` after changing the dependencies in pyproject.toml; delete a line of constraints.txt first to let that
package move to its newest version.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
HEADER = """\
# Exact versions of everything that any extra of pyproject.toml brings in, and of what builds the package.
# Every version can be installed on every Python that pyproject.toml admits.
# Written by `make pin`; used by every `make` target that installs.
"""
ALSO = {
    "mpmath": "1.3.0", "py4j": "0.10.9.9", "pyspark": "4.3.0", "scikit-fmm": "2025.6.23", "setuptools": "84.2.1",
    "sympy": "1.14.0", "torch": "2.13.0",
}  # fmt: skip
"""Pinned without asking pip, which would fetch gigabytes: PyTorch and Spark, and what nothing else of ours needs but
these. scikit-fmm, a peer of benchmarks, has no wheels to ask for."""


def requirements(project: dict[str, Any]) -> list[str]:
    """Everything that the package, its extras and building it in place require, without PyTorch."""
    extras = project["project"]["optional-dependencies"].values()
    builders = [*project["build-system"]["requires"], "editables"]
    required = {*project["project"]["dependencies"], *builders, *(one for extra in extras for one in extra)}
    return sorted(one for one in required if re.split(r"[^\w.-]", one)[0] not in ALSO)


def supported_pythons(project: dict[str, Any]) -> tuple[str, str]:
    """The first release of the oldest Python that is admitted, and the newest Python among the classifiers."""
    oldest = project["project"]["requires-python"].removeprefix(">=")
    listed = [re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", one) for one in classifiers(project)]
    return f"{oldest}.0", f"3.{max(int(match[1]) for match in listed if match)}"


def classifiers(project: dict[str, Any]) -> list[str]:
    return list(project["project"]["classifiers"])


def resolve(required: list[str], python: str) -> dict[str, str]:
    """Name and version of everything pip would install for a Python into an empty environment, within the pins."""
    found = pip_report(python, "--constraint", str(CONSTRAINTS), *required)
    return {item["name"].lower().replace("_", "-"): item["version"] for item in found}


def check(pins: dict[str, str], python: str) -> None:
    """Fail with pip's message unless every pin can be installed on a Python."""
    pip_report(python, "--no-deps", *(f"{name}=={version}" for name, version in pins.items()))


def pip_report(python: str, *arguments: str) -> list[dict[str, str]]:
    """Metadata of what pip would install. For a Python other than its own, pip needs wheels and a target folder."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]
        command += ["--python-version", python, "--only-binary=:all:", "--target", folder, "--report", str(report)]
        subprocess.run([*command, *arguments], check=True)
        return [item["metadata"] for item in json.loads(report.read_text())["install"]]


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    oldest, newest = supported_pythons(project)
    pins = {name: version for name, version in resolve(requirements(project), oldest).items() if name not in ALSO}
    check(pins, newest)
    lines = [f"{name}=={version}\n" for name, version in sorted((pins | ALSO).items())]
    CONSTRAINTS.write_text(HEADER + "".join(lines))


if __name__ == "__main__":
    main()
