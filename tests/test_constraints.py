"""constraints.txt pins, to one version and to no place, everything that pyproject.toml asks for."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.version import Version

from tests.suite_report import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    named = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    return [Requirement(text) for text in [*named, *(one for extra in extras for one in extra)]]


def test_every_line_is_a_name_and_a_version() -> None:
    assert [line for line in LINES if not re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line)] == []


def test_every_requirement_has_a_pin_that_fits() -> None:
    pins = {canonical(name): Version(version) for name, _, version in (line.partition("==") for line in LINES)}
    missing = [str(one) for one in requirements() if canonical(one.name) not in pins]
    assert missing == [], "run: make pin"
    assert [str(one) for one in requirements() if pins[canonical(one.name)] not in one.specifier] == [], "run: make pin"
