"""Write constraints.txt: the exact version of every package that any extra brings in.

Here: asking pip what it would install, starting from the pins that are already there, and writing that down.
Not here: installing (setup.sh).

Run ``make pin`` after changing the dependencies in pyproject.toml; delete a line of constraints.txt first to let that
package move to its newest version.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
HEAD = """\
# Exact versions of everything that any extra of pyproject.toml brings in, and of what builds the package.
# Written by `make pin`; used by every `make` target that installs.
"""


def wanted() -> list[str]:
    """The requirements of the package, of all its extras, and of building it in place."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    builders = [*project["build-system"]["requires"], "editables"]
    return sorted({*project["project"]["dependencies"], *builders, *(one for extra in extras for one in extra)})


def resolve(requirements: list[str]) -> dict[str, str]:
    """Name and version of everything pip would install, in an empty environment, within the present pins."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--constraint", str(CONSTRAINTS), *requirements]
        subprocess.run(command, check=True)
        found = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    # A local build's suffix (torch 2.13.0+cpu) is dropped: the pin has to fit every build of that version.
    return {item["name"].lower().replace("_", "-"): item["version"].partition("+")[0] for item in found}


def main() -> None:
    pins = resolve(wanted())
    CONSTRAINTS.write_text(HEAD + "".join(f"{name}=={version}\n" for name, version in sorted(pins.items())))


if __name__ == "__main__":
    main()
