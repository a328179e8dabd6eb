"""Write docs/reference/errors.md from errors.py: every error class, what it means, and its two sentences.

Here: reading the classes of errors.py, and the page.
Not here: the errors themselves (errors).

Run ``python -m tools.generate_error_reference`` after a change of errors.py; ``--check`` fails when the page is stale.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.generated_file import update

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "pellucid" / "errors.py"
TARGET = ROOT / "docs" / "reference" / "errors.md"
HEADER = """\
# Errors

Every error that you can see is a class in `pellucid.errors`, derived from `PellucidError`. Its text is two sentences:
`error.what` says what is wrong, `error.remedy` says what to do. Over HTTP, `kind` is the name of the class. Names in
⟨brackets⟩ stand for values; … stands for text that depends on the case. The same work may succeed when it is repeated
after a *transient* error.

`tools/generate_error_reference.py` writes this page from `errors.py`.

| Error | Meaning | Text |
|---|---|---|
"""


def generate() -> str:
    return HEADER + "".join(f"{row}\n" for row in rows(ast.parse(SOURCE.read_text())))


def rows(module: ast.Module) -> Iterator[str]:
    """One line of the table for every class, in the order of the file."""
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name != "PellucidError":
            meaning = " ".join((ast.get_docstring(node) or "").partition("\n")[0].split())
            mark = " *(transient)*" if is_transient(node) else ""
            yield f"| `{node.name}`{mark} | {escaped(meaning)} | {escaped(sentences(node))} |"


def is_transient(node: ast.ClassDef) -> bool:
    assigned = [one for one in node.body if isinstance(one, ast.Assign)]
    return any(ast.unparse(one) == "is_transient = True" for one in assigned)


def sentences(node: ast.ClassDef) -> str:
    """What the class says of itself; … where the code that raises it says so."""
    call = next((one for one in ast.walk(node) if is_super_init(one)), None)
    if not isinstance(call, ast.Call):
        return "…"
    local = {
        name.id: one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Assign)
        for name in one.targets
        if isinstance(name, ast.Name)
    }
    parts = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "do")]
    return " ".join(template(part, local) for part in parts)


def is_super_init(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__"


def template(node: ast.expr, local: dict[str, ast.expr]) -> str:
    """A string with the names of its values; a local variable that holds one string is followed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part, {}) if isinstance(part, ast.Constant) else value(part) for part in node.values)
    if isinstance(node, ast.Name) and node.id in local:
        return template(local[node.id], {})
    return "…"


def value(node: ast.expr) -> str:
    inner = node.value if isinstance(node, ast.FormattedValue) else node
    return f"⟨{inner.id}⟩" if isinstance(inner, ast.Name) else "…"


def escaped(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(update(TARGET, generate()))
