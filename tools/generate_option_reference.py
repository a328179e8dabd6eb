"""Write docs/reference/options.md from the parsers of the command line: every command, with all of its options.

Here: reading the parsers, and the page.
Not here: the options themselves (cli).

Run ``python -m tools.generate_option_reference`` after a change of options; ``--check`` fails when the page is stale.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pellucid.cli.main import _parser
from tools.generated_file import update

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference" / "options.md"
EVERYWHERE = ("--help", "--quiet", "--progress-file", "--debug")
UNTITLED = ("positional arguments", "options")
HEADER = """\
# Options

Every option of every command, as `pellucid COMMAND --help` lists them; [commands](command-line.md) says what they are
for. Every command also takes `--help`, `--quiet` (no progress), `--progress-file FILE` (progress as JSON, for another
program) and `--debug` (the traceback of an error).

`tools/generate_option_reference.py` writes this page.
"""
Table = tuple[str, tuple[str, ...]]
"""The title of a group of options, and its rows."""


def generate(parser: argparse.ArgumentParser) -> str:
    found = {name: (command, list(tables(command))) for name, command in commands(parser)}
    uses = Counter(table for _, listed in found.values() for table in listed if table[0])
    shared = [table for table, times in uses.items() if times > 1]
    sections = [section(name, command, listed, shared) for name, (command, listed) in found.items()]
    repeated = [f"## {heading(table, shared)}\n\n{text(table)}" for table in shared]
    return "\n".join([HEADER, *sections, *repeated])


def commands(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """All commands by name, also those below others, such as ``train segment``; a second name of one is left out."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for action in below:
        for own, command in first_names(action).items():
            yield from commands(command, f"{name} {own}".strip())


def first_names(action: "argparse._SubParsersAction[argparse.ArgumentParser]") -> dict[str, argparse.ArgumentParser]:
    """The commands without their second names."""
    own = dict[int, str]()
    for name, command in action.choices.items():
        own.setdefault(id(command), name)
    return {name: action.choices[name] for name in own.values()}


def tables(command: argparse.ArgumentParser) -> Iterator[Table]:
    """Its own options first, without a title, then the groups that have one."""
    formatter, titled = argparse.HelpFormatter(command.prog), dict[str, tuple[str, ...]]()
    for group in command._action_groups:
        title = "" if group.title in UNTITLED else group.title or ""
        rows = tuple(row(action, formatter) for action in group._group_actions if is_listed(action))
        titled[title] = titled.get(title, ()) + rows
    yield from (table for table in titled.items() if table[1])


def is_listed(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS and not {*EVERYWHERE} & {*action.option_strings}


def row(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    """An option with its value, and what it is for."""
    value = "" if action.nargs == 0 else formatter._format_args(action, action.dest.upper())
    names = " ".join([", ".join(action.option_strings), value]).strip()
    meaning = formatter._expand_help(action) if action.help else ""
    return f"| `{escaped(names)}` | {escaped(meaning)} |"


def section(name: str, command: argparse.ArgumentParser, listed: list[Table], shared: list[Table]) -> str:
    own = [table for table in listed if table not in shared]
    links = [f"[{heading(table, shared)}](#{anchor(heading(table, shared))})" for table in listed if table in shared]
    parts = [f"## {name}\n", *(text(table, titled=True) for table in own)]
    if not listed:
        parts.append("No options of its own.\n")
    return "\n".join([*parts, *([f"Also: {', '.join(links)}.\n"] if links else [])])


def heading(table: Table, shared: list[Table]) -> str:
    """Groups of one title that differ between commands are numbered."""
    alike = [one for one in shared if one[0] == table[0]]
    return f"Group: {table[0]}" + (f" ({alike.index(table) + 1})" if len(alike) > 1 else "")


def anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def text(table: Table, *, titled: bool = False) -> str:
    title = f"{table[0][0].upper()}{table[0][1:]}:\n\n" if titled and table[0] else ""
    return title + "".join(f"{line}\n" for line in ("| Option | Meaning |", "|---|---|", *table[1]))


def escaped(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(update(TARGET, generate(_parser())))
