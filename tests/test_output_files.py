"""Where a file may be written by its name.

In a folder where others may write, the name of an output may be a link of another user to any file. So files are
written by written_whole, which creates one with a name that no one can guess; a growing volume is in a folder of its
own.
"""

import ast

from tests.suite_report import ROOT

PACKAGE = ROOT / "src/pellucid"
WRITERS = {
    "formats/local_files.py": "written_whole itself",
    "formats/byte_sources.py": "exclusively, in the cache",
    "formats/flat/inflate.py": "in the cache",
    "formats/flat/reader_writer.py": "in the folder of a growing output",
    "formats/hdf5/write/chunk_stores.py": "in the folder of a growing output",
    "formats/tiff/folder.py": "in the folder of a growing output",
    "engines/earlier_plan.py": "in the folder of a growing output",
    "engines/markers.py": "in the folder of a growing output",
    "engines/partial_output.py": "in the folder of a growing output",
    "infer/memory.py": "in the cache",
    "infer/network_files/package.py": "exclusively, in a new folder",
    "instance/reconstruction/runs.py": "in the viewer's own folder",
    "instance/routes/sources.py": "in the viewer's own folder",
    "agent/audit.py": "in the user's state folder",
    "agent/files/listing.py": "in an archive that is sent",
    "rendering/movie.py": "through the descriptor of written_whole",
    "agent/files/routes.py": "exclusively, with a name that cannot be guessed",
    "cli/commands/transport.py": "exclusively",
    "learn/denoise/objective.py": "in the folder of a growing output",
    "learn/denoise/pipeline.py": "in the folder of a growing output",
    "learn/networks/network_folder.py": "in the folder of a growing output",
    "learn/training/event_files.py": "in the folder of a growing output",
}


def test_outputs_are_written_in_one_step() -> None:
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if _writes(ast.parse(path.read_text()))}
    assert found - WRITERS.keys() == set(), "use written_whole or write_whole of formats/local_files.py"
    assert WRITERS.keys() - found == set(), "no longer needed here"


def _writes(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Call) and _opens_to_write(node) for node in ast.walk(tree))


def _opens_to_write(call: ast.Call) -> bool:
    """Whether it is open(…, "w"), path.open("w"), os.fdopen(…, "w"), path.write_text(…) or path.write_bytes(…)."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name in ("write_text", "write_bytes"):
        return "channel" not in owner and owner != "self"  # The channels of the transport have a write_bytes too.
    if name not in ("open", "fdopen"):
        return False
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
    modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return any(mode[:1] in ("w", "a", "x") and set(mode) <= set("waxbt+") for mode in modes)


def test_what_counts_as_writing() -> None:
    for text in ('open(p, "w")', 'p.open("ab")', "p.write_text(t)", 'open(p, mode="x")', 'os.fdopen(n, "w+b")'):
        assert _writes(ast.parse(text)), text
    for text in ("open(p)", 'p.open("rb")', "self._channel.write_bytes(b)", 'archive.open("w.txt")'):
        assert not _writes(ast.parse(text)), text
