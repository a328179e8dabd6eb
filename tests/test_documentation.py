"""Documentation holds together: links lead somewhere, Python in it compiles and uses names that exist."""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pellucid
from pellucid.cli.main import _parser
from tests.suite_report import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def links(page: Path) -> list[str]:
    """Targets inside the repository, as written."""
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def python_in(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def names_used(source: str) -> Iterator[str]:
    """What the source takes from the front of the package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pellucid":
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == "pellucid":
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_uses_names_that_exist(page: Path) -> None:
    names = {name for source in python_in(page) for name in names_used(source)}
    assert names - set(dir(pellucid)) == set()


def test_every_layer_that_exists_has_a_page() -> None:
    folders = [path.parent.name for path in sorted((ROOT / "src" / "pellucid").glob("*/__init__.py"))]
    index = (ROOT / "docs" / "README.md").read_text()
    assert [name for name in folders if f"| {name} |" not in index] == []


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs" / "explanation" / "decisions"
    assert sorted(path.name for path in folder.glob("0*.md")) == sorted(links(folder / "README.md"))


def test_every_page_is_in_the_index() -> None:
    folder = ROOT / "docs"
    pages = {str(path.relative_to(folder)) for path in folder.rglob("*.md") if path.name[0].isalpha()} - {"README.md"}
    assert pages - set(links(folder / "README.md")) == set()


def test_every_command_is_in_the_synopsis() -> None:
    (synopsis, *_) = re.findall(
        r"```\n(.*?)```", (ROOT / "docs" / "reference" / "command-line.md").read_text(), re.DOTALL
    )
    listed = re.findall(r"(?:^pellucid|\|) ([a-z]+)", synopsis, re.MULTILINE)
    assert set(command_names()) - set(listed) == set()


def command_names() -> list[str]:
    (commands,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    return list(commands.choices)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_benchmarks_that_are_named_can_be_run(page: Path) -> None:
    named = set(re.findall(r"python -m benchmarks\.([a-z_]+)", page.read_text()))
    assert [one for one in named if "def main(" not in (ROOT / "benchmarks" / f"{one}.py").read_text()] == []


@pytest.mark.parametrize("module", ["client_messages", "server_messages"])
def test_every_message_is_on_the_page_of_the_protocol(module: str) -> None:
    source = (ROOT / "src" / "pellucid" / "instance" / "protocol" / f"{module}.py").read_text()
    types = re.findall(r'type: Literal\["(\w+)"\]', source)
    named = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "reference" / "protocol.md").read_text()))
    assert len(types) > 15
    assert [name for name in types if name not in named | {"frame"}] == []
