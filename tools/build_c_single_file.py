"""Build clients/c/pellucid.c: the source files of the C client as one file, which a program can add to its own.

Here: the order of the files, and what is left out of each.
Not here: the source files (clients/c/src), compiling them (clients/c/Makefile).

In the single file internal functions are static: a program that contains it sees the names of pellucid.h alone.

Run ``python tools/build_c_single_file.py`` to build it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "clients" / "c"
SINGLE_FILE = FOLDER / "pellucid.c"
ROOT_HEADER = "internal.h"
LOCAL = re.compile(r'^#include "(.+)"\n', re.MULTILINE)
SYSTEM = re.compile(r"^#include <(.+)>\n", re.MULTILINE)
GUARD = re.compile(r"^#ifndef (PELLUCID_\w+_H)\n#define \1\n(.*)^#endif\n", re.MULTILINE | re.DOTALL)
NOTICE = """\
/* The C client of Pellucid {version}, as one file. See pellucid.h for what it does.
 *
 * Built by tools/build_c_single_file.py from clients/c/src. Change the files there. Apache License 2.0.
 */
"""


def build(folder: Path = FOLDER) -> None:
    """Write folder/pellucid.c from folder/src; in one step, because two builds may run at the same time."""
    part = folder / "pellucid.c.part"
    part.write_text(join_files(folder / "src"))
    part.replace(folder / SINGLE_FILE.name)


def join_files(source: Path) -> str:
    """All source files, each after the headers that it includes."""
    paths = list(_in_order(source))
    headers = {name for path in paths for name in SYSTEM.findall(_split(path.read_text())[0])}
    start = (source / ROOT_HEADER).read_text()
    includes = "".join(f"#include <{name}>\n" for name in sorted(headers))
    sections = [NOTICE.format(version=_version()), "#define INTERNAL static\n", _content(start), includes]
    for path in paths:
        sections.append(f"/* ---- {path.relative_to(source)} ---- */\n")
        sections.append(_content(path.read_text()))
    return "\n".join(sections)


def _in_order(source: Path) -> Iterator[Path]:
    seen = {source / ROOT_HEADER}

    def visit(path: Path) -> Iterator[Path]:
        if path in seen:
            return
        seen.add(path)
        for name in LOCAL.findall(path.read_text()):
            if (source / name).is_file():
                yield from visit(source / name)
        yield path

    for path in sorted(source.rglob("*.c")):
        yield from visit(path)


def _content(text: str) -> str:
    """A file without its guard and includes; pellucid.h is included by the first header."""
    top, rest = _split(text)
    kept = LOCAL.sub(lambda found: found.group() if found[1] == "pellucid.h" else "", SYSTEM.sub("", top) + rest)
    return re.sub(r"\n{3,}", "\n\n", kept).strip() + "\n"


def _split(text: str) -> tuple[str, str]:
    """A file without its guard, up to the first condition and from there: what is included under one stays there."""
    top, condition, rest = GUARD.sub(r"\2", text).partition("\n#if")
    return top + "\n" if condition else top, condition[1:] + rest


def _version() -> str:
    (version,) = re.findall(r'^version = "(.+)"$', (FOLDER.parents[1] / "pyproject.toml").read_text(), re.MULTILINE)
    return str(version)


if __name__ == "__main__":
    build()
