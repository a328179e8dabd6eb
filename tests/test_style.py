"""The measurable part of the style: sizes of files, functions and classes, names, docstrings, private paths."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suite_report import ROOT

FOLDERS = ("src", "tests", "benchmarks", "examples", "tools")
FILE_LINES, FUNCTION_LINES, CLASS_LINES = 400, 50, 200
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
C_FUNCTION = re.compile(
    r"^(?!static const|\s)[^\n;{}=]*?\b(?P<name>\w+)\((?:[^{};])*\) \{\n.*?^\}$", re.MULTILINE | re.DOTALL
)
# Words of tales, which say nothing to an engineer, in names and in what users read.
BANNED = {
    "wish",
    "wishes",
    "wished",
    "told",
    "obey",
    "stroke",
    "shelf",
    "bench",
    "patience",
    "leavings",
    "manieth",
    "somebody",
    "whoever",
    "nobody",
    "everybody",
    "heard",
    "believes",
    "believed",
}
BANNED_NAMES = BANNED | {"said", "asked", "door", "wall"}
# Pillow's arguments, wall-clock time, a user of every Unix, and what is in a scan.
CUSTOMARY = {
    *("stroke_fill", "stroke_width", "wall_s", "nobody", "measure_a_wall"),
    *("stroke_T1.nii.gz", "volumes/stroke_T1.nii.gz"),
}
FOLDER_MODULES = 20
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
SINGLE_FILE = ROOT / "clients" / "c" / "pellucid.c"
# Where somebody's own machine or workplace shows through.
PRIVATE = (
    re.compile(r"(?<![\w.])/(home|Users)/\w"),
    re.compile(r"(?<![\w.])/(root|work)/[\w.]"),
    re.compile(r"file:/{3}"),
    re.compile(r"\bissue #?\d", re.IGNORECASE),
    re.compile(r"--(extra-)?index-url"),
)
TEXT_ENDS = {".py", ".md", ".toml", ".txt", ".sh", ".yml", ".yaml", ".json", ".ts", ".tsx", ".c", ".h", ""}


def python_files() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def modules() -> list[Path]:
    return [path for path in python_files() if path.is_relative_to(ROOT / "src")]


def kept_files() -> list[Path]:
    """Text files that git keeps or would keep; without git, the Python files."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return python_files()
    paths = [ROOT / name for name in listed]
    return [path for path in paths if path.suffix in TEXT_ENDS and path.is_file() and path != Path(__file__)]


def c_files() -> list[Path]:
    """Without the single file, which is built from the others."""
    paths = (path for end in ("c", "h", "cpp") for path in (ROOT / "clients").rglob(f"*.{end}"))
    return sorted(path for path in paths if "build" not in path.parts and path != SINGLE_FILE)


def typescript_files() -> list[Path]:
    """Without what tools/generate_web_types.py writes."""
    paths = (path for end in ("ts", "tsx") for path in (ROOT / "web" / "src").rglob(f"*.{end}"))
    return sorted(path for path in paths if path != ROOT / "web" / "src" / "protocol.ts")


def long_c_functions(source: str) -> Iterator[str]:
    """Functions in C with more lines than they may have: up to the first ``}`` that begins a line."""
    for found in C_FUNCTION.finditer(source):
        lines = found.group().count("\n") + 1
        if lines > FUNCTION_LINES:
            yield f"{found['name']}: {lines} lines"


def too_long(source: str) -> Iterator[str]:
    """Functions and classes with more lines than they may have."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > (CLASS_LINES if isinstance(node, ast.ClassDef) else FUNCTION_LINES):
                yield f"{node.name}: {lines} lines"


def private_words(text: str) -> list[str]:
    return [match.group() for pattern in PRIVATE for match in pattern.finditer(text)]


def identifiers(node: ast.AST) -> list[str]:
    """The names that a node gives or uses."""
    found = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "asname")]
    return [name for name in found if isinstance(name, str)]


def banned_words(source: str) -> list[str]:
    """Names, and texts that are no docstrings, with a banned word in them."""
    nodes = list(ast.walk(ast.parse(source)))
    notes = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    found = [name for node in nodes for name in identifiers(node) if name not in CUSTOMARY]
    names = {name for name in found if BANNED_NAMES & {word.lower() for word in WORD.findall(name)}}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in notes}
    said = {text for text in texts if isinstance(text, str) and BANNED & set(WORD.findall(text.lower()))}
    return sorted(names | said - CUSTOMARY)


def banned_in_docstrings(source: str) -> list[str]:
    """Docstrings, and texts that describe a constant, with a banned word in them."""
    notes = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr)]
    texts = [note.value for note in notes if isinstance(note, ast.Constant) and isinstance(note.value, str)]
    return [text for text in texts if BANNED & set(WORD.findall(text.lower()))]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_are_short() -> None:
    paths = [*python_files(), *c_files(), *typescript_files()]
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in paths}
    assert {name: lines for name, lines in lengths.items() if lines >= FILE_LINES} == {}


def test_functions_and_classes_are_short() -> None:
    found = {name_of(path): list(too_long(path.read_text())) for path in python_files()}
    assert {name: long for name, long in found.items() if long} == {}


def test_functions_in_c_are_short() -> None:
    found = {name_of(path): list(long_c_functions(path.read_text())) for path in c_files()}
    assert {name: long for name, long in found.items() if long} == {}


def test_names_say_what_is_inside() -> None:
    assert [name_of(path) for path in modules() if VAGUE & set(path.stem.split("_"))] == []


def test_names_and_texts_are_plain() -> None:
    paths = [path for path in python_files() if not path.is_relative_to(ROOT / "tests")]
    found = {name_of(path): banned_words(path.read_text()) for path in paths}
    assert {name: words for name, words in found.items() if words} == {}


def test_docstrings_are_plain() -> None:
    found = {name_of(path): banned_in_docstrings(path.read_text()) for path in modules()}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_a_banned_word_is_caught() -> None:
    assert banned_words("def told_by(somebody): return other.wall_time") == ["somebody", "told_by", "wall_time"]
    assert banned_words("raise Error('Nobody is there.')") == ["Nobody is there."]
    assert banned_in_docstrings("def read():\n    'What nobody reads.'\n    return 1") == ["What nobody reads."]
    assert banned_words("def walls(wall_s):\n    'What nobody reads.'\n    return 'The wall.'") == []


def test_class_names_are_unique() -> None:
    bodies = [ast.parse(path.read_text()).body for path in modules()]
    names = [node.name for body in bodies for node in body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    assert {name for name in names if names.count(name) > 1} == set()


def test_folders_are_small() -> None:
    counts = Counter(path.parent for path in modules() if path.stem != "__init__")
    assert {name_of(folder): count for folder, count in counts.items() if count > FOLDER_MODULES} == {}


def test_modules_say_what_is_here() -> None:
    named = [path for path in modules() if path.stem not in ("__init__", "__main__")]
    assert [
        name_of(path) for path in named if "Here:" not in (ast.get_docstring(ast.parse(path.read_text())) or "")
    ] == []


def test_nothing_private_shows() -> None:
    found = {name_of(path): private_words(path.read_text(errors="replace")) for path in kept_files()}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("lines", [50, 51])
def test_a_long_function_is_caught(lines: int) -> None:
    source = "def scan():\n" + "    pass\n" * (lines - 1)
    assert list(too_long(source)) == ([] if lines <= FUNCTION_LINES else [f"scan: {lines} lines"])


@pytest.mark.parametrize("lines", [50, 51])
def test_a_long_function_in_c_is_caught(lines: int) -> None:
    start = "static int scan(const char *name,\n                int count) {\n"
    source = (
        "struct scan {\n    int count;\n};\n\n" + start + "    count++;\n" * (lines - 3) + "}\n\nint next(void) {\n}\n"
    )
    assert list(long_c_functions(source)) == ([] if lines <= FUNCTION_LINES else [f"scan: {lines} lines"])


def test_files_in_c_and_typescript_are_found() -> None:
    assert {"pellucid.h", "channel.c", "test.c", "from_cplusplus.cpp"} <= {path.name for path in c_files()}
    assert {"session.ts", "main.tsx"} <= {path.name for path in typescript_files()}


def test_a_private_path_is_caught() -> None:
    assert private_words("open('/home/ada/scan.h5')") == ["/home/a"]
    assert private_words("https://example.org/home/ada") == []
