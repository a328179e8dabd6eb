"""Names in prose exist: modules and functions that documentation and docstrings mention."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suite_report import ROOT

PACKAGE = ROOT / "src" / "pellucid"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SOURCES = sorted(PACKAGE.rglob("*.py"))
NOT_MODULES = {"c", "h", "toml", "so", "a", "md", "sif", "network_runtimes"}
"""What follows ``pellucid.`` in the name of a file or of a group of entry points."""

MODULES = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def exists(name: str) -> bool:
    """Whether ``pellucid.NAME`` is a module or can be reached from one.

    >>> exists("Box.parse"), exists("box"), exists("box.Sphere")
    (True, True, False)
    """
    found: object = importlib.import_module("pellucid")
    path = "pellucid"
    for part in name.split("."):
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return False
    return True


def names_after_the_package(text: str) -> set[str]:
    """What a text takes from the package: ``pellucid.open``, ``pl.Box.parse``, ``from pellucid.box import Box``.

    >>> sorted(names_after_the_package("pl.open(x); from pellucid.box import Box, triple\\nand pellucid.toml"))
    ['box', 'box.Box', 'box.triple', 'open']
    """
    named = {match[1] for match in re.finditer(r"(?<![\w./-])(?:pellucid|pl)\.((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)", text)}
    for match in re.finditer(r"from pellucid\.([\w.]+) import \(?([\w, \n]+)", text):
        named |= {
            f"{match[1]}.{one.split(' as ')[0].strip()}"
            for one in match[2].partition("\n")[0].split(",")
            if one.strip()
        }
    return {name for name in named if name not in NOT_MODULES}


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def modules_in_tables(text: str) -> Iterator[str]:
    """The names in the first column of tables with the heading ``module``."""
    for table in re.findall(r"^\| module \|.*\n\|[-|]+\n((?:\|.*\n?)+)", text, re.MULTILINE):
        for row in table.splitlines():
            yield from re.findall(r"`(\w+)`", row.split("|")[1])


def modules_elsewhere(docstring: str) -> Iterator[str]:
    """The modules in brackets behind ``Not here:``, with dots.

    >>> list(modules_elsewhere("Not here: bytes (formats), drawing (kernels/light.py, renderer), words (in prose)."))
    ['formats', 'kernels.light', 'renderer']
    """
    for listed in re.findall(r"\(([^)]*)\)", docstring.partition("Not here:")[2].partition("\n\n")[0]):
        for one in re.split(r"[,;]\s+", listed.replace("\n", " ")):
            if re.fullmatch(r"[a-z_][\w./]*", one) and not one.endswith(".md"):
                yield one.strip("/").removesuffix(".py").removeprefix("pellucid.").replace("/", ".")


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_a_page_names_what_exists(page: Path) -> None:
    text = page.read_text()
    assert [name for name in sorted(names_after_the_package(text)) if not exists(name)] == []
    assert [name for name in modules_in_tables(text) if name not in MODULES] == []


def test_docstrings_name_what_exists() -> None:
    named = {
        (relative(path), name)
        for path in SOURCES
        for text in docstrings(path)
        for name in names_after_the_package(text)
    }
    assert [(path, name) for path, name in sorted(named) if not exists(name)] == []


def test_modules_say_where_the_rest_is() -> None:
    elsewhere = ((path, name) for path in SOURCES for name in modules_elsewhere(next(docstrings(path))))
    assert [(relative(path), name) for path, name in elsewhere if not is_found(name, path)] == []


def is_found(name: str, path: Path) -> bool:
    """Whether a reader of a module finds the one that it names: a plain name in its own layer or as a layer; one with
    dots as the end of a path in any. The last part may be a function or class."""
    parts, layer = tuple(name.split(".")), path.relative_to(PACKAGE).parts[0]
    if len(parts) > 1:
        return any(
            found[-len(parts) :] == parts or (found[1 - len(parts) :] == parts[:-1] and parts[-1] in defined)
            for found, defined in DEFINED.items()
        )
    return any(
        found == parts or (found[0] == layer and (found[-1] == name or name in defined))
        for found, defined in DEFINED.items()
    )


def _defined() -> dict[tuple[str, ...], set[str]]:
    """The parts of the path of every module and folder, and the names that it defines."""
    found: dict[tuple[str, ...], set[str]] = {}
    for path in SOURCES:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names = set(re.findall(r"^\s*(?:(?:async )?def|class) (\w+)", path.read_text(), re.MULTILINE))
        found[parts[:-1] if parts[-1] == "__init__" else parts] = names
    return {parts: names for parts, names in found.items() if parts}


DEFINED = _defined()
