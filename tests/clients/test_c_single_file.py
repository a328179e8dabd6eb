"""The single file of the C client: built from the source files, and what a program that contains it sees."""

import re
import subprocess
from pathlib import Path

from pellucid import errors
from tools.build_c_single_file import FOLDER, join_files


def test_every_source_file_is_in_it_once() -> None:
    text = join_files(FOLDER / "src")
    expected = sorted(str(path.relative_to(FOLDER / "src")) for path in (FOLDER / "src").glob("*/*.[ch]"))
    assert sorted(re.findall(r"^/\* ---- (\S+) ---- \*/$", text, re.MULTILINE)) == expected
    assert re.findall(r'^#include "(.+)"$', text, re.MULTILINE) == ["pellucid.h"]


def test_what_is_included_under_a_condition_stays_there() -> None:
    text = join_files(FOLDER / "src")
    assert "#if defined(__x86_64__) && defined(__GNUC__)\n#include <immintrin.h>\n" in text
    assert text.count("#include <string.h>\n") == 1


def test_a_program_sees_the_public_names_alone(build: Path) -> None:
    listed = subprocess.run(
        ["nm", "--defined-only", "--extern-only", str(build / "libpellucid.a")],
        check=True,
        capture_output=True,
        text=True,
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines() if len(line.split()) == 3}
    declared = set(re.findall(r"\b(pellucid_\w+)\(", (FOLDER / "pellucid.h").read_text()))
    assert names == {name for name in declared if name in names} and "pellucid_send" in names


def test_the_error_names_are_classes_of_python() -> None:
    source = (FOLDER / "src" / "base" / "errors.c").read_text()
    names = re.findall(r'\{"(\w+)", PELLUCID_\w+\}', source)
    assert len(names) == 10 and [name for name in names if not hasattr(errors, name)] == []
