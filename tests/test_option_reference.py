"""The page of options: what it has of a command, and that groups which commands share are on it once."""

import argparse

from pellucid.cli.main import _parser
from tools.generate_option_reference import commands, generate, tables


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("pellucid")
    below = made.add_subparsers()
    nested = below.add_parser("train").add_subparsers()
    for command in (below.add_parser("render", aliases=["draw"]), nested.add_parser("segment")):
        command.add_argument("source", help="file | folder")
        group = command.add_argument_group("headerless files")
        group.add_argument("--shape", metavar="Z,Y,X", help="voxels")
        command.add_argument("--end-with", help=argparse.SUPPRESS)
        command.add_argument("--quiet", action="store_true", help="do not show progress")
    nested.choices["segment"].add_argument("--kind", choices=["2d", "3d"], default="3d", help="%(default)s if not set")
    return made


def test_commands_have_their_whole_names_and_one_only() -> None:
    assert [name for name, _ in commands(parser())] == ["train segment", "render"]


def test_a_shared_group_is_listed_once_and_linked() -> None:
    page = generate(parser())
    assert (
        page.split("## ", 1)[1]
        == """\
train segment

| Option | Meaning |
|---|---|
| `SOURCE` | file \\| folder |
| `--kind {2d,3d}` | 3d if not set |

Also: [Group: headerless files](#group-headerless-files).

## render

| Option | Meaning |
|---|---|
| `SOURCE` | file \\| folder |

Also: [Group: headerless files](#group-headerless-files).

## Group: headerless files

| Option | Meaning |
|---|---|
| `--shape Z,Y,X` | voxels |
"""
    )


def test_every_option_says_what_it_is_for() -> None:
    rows = {row for _, command in commands(_parser()) for _, listed in tables(command) for row in listed}
    assert [row for row in sorted(rows) if row.endswith("|  |")] == []
    assert len(rows) > 100
