"""constraints.txt pins, to one version and to no place, everything that pyproject.toml asks for."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.suite_report import ROOT
from tools.pin import supported_pythons

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    named = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    return [Requirement(text) for text in [*named, *(one for extra in extras for one in extra)]]


def installed_pins() -> Iterator[Distribution]:
    """The packages that are installed here in exactly the version that is pinned."""
    for name, _, version in (line.partition("==") for line in LINES):
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        if found.version == version:
            yield found


def test_every_line_is_a_name_and_a_version() -> None:
    assert [line for line in LINES if not re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line)] == []


def test_every_requirement_has_a_pin_that_fits() -> None:
    pins = {canonical(name): Version(version) for name, _, version in (line.partition("==") for line in LINES)}
    missing = [str(one) for one in requirements() if canonical(one.name) not in pins]
    assert missing == [], "run: make pin"
    assert [str(one) for one in requirements() if pins[canonical(one.name)] not in one.specifier] == [], "run: make pin"


def test_the_oldest_and_the_newest_python_come_from_pyproject() -> None:
    classifiers = [f"Programming Language :: Python :: 3{minor}" for minor in ("", ".9", ".12", ".11")]
    assert supported_pythons({"project": {"requires-python": ">=3.9", "classifiers": classifiers}}) == ("3.9.0", "3.12")


def test_every_pin_can_be_installed_on_the_oldest_and_the_newest_python() -> None:
    found = {one.name: SpecifierSet(one.metadata["Requires-Python"] or "") for one in installed_pins()}
    assert "numpy" in found
    refused = [
        f"{name} needs Python {needs}, not {python}"
        for name, needs in found.items()
        for python in supported_pythons(PROJECT)
        if python not in needs
    ]
    assert refused == [], "remove its line from constraints.txt, then run: make pin"
