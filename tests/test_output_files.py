"""Where a file may be written by its name.

In a folder where others may write, the name of an output may be a link of another user to any file. So files are
written by written_whole, which creates one with a name that no one can guess; a growing volume is in a folder of its
own.
"""

import ast
import re

import pytest

from tests.suite_report import ROOT

PACKAGE = ROOT / "src/pellucid"
GROWING, OPENED, OWN = "in the folder of a growing output", "to an open file", "in a folder of the user's own"
WRITERS = {
    "formats/local_files.py": "written_whole itself",
    "agent/audit.py": OWN,
    "agent/files/listing.py": "in an archive that is sent",
    "agent/files/routes.py": "exclusively, with a name that cannot be guessed",
    "agent/hub/launch.py": OWN,
    "agent/jobs/certificate.py": OWN,
    "agent/sharing/share.py": "in a new folder with a name that cannot be guessed",
    "cli/commands/transport.py": "exclusively",
    "cli/replaced_files.py": OPENED,
    "client/agent_client.py": OWN,
    "cluster/nodes/folders.py": OWN,
    "device/precompiled_headers.py": "in the cache, with a name that cannot be guessed",
    "engines/earlier_plan.py": GROWING,
    "engines/markers.py": GROWING,
    "engines/partial_output.py": GROWING,
    "engines/spark_job/allocation.py": "in a new private folder with a name that cannot be guessed",
    "engines/remote_blocks.py": "in the folder of a growing output, or in one of the user's own",
    "formats/byte_sources.py": "exclusively, in the cache",
    "formats/chunked/store.py": GROWING,
    "formats/flat/inflate.py": "in the cache",
    "formats/flat/reader_writer.py": GROWING,
    "formats/hdf5/write/atomic_file.py": GROWING,
    "formats/hdf5/write/chunk_stores.py": GROWING,
    "formats/hdf5/write/plan.py": GROWING,
    "formats/hdf5/write/segments.py": GROWING,
    "formats/hdf5/write_arrays.py": OPENED,
    "formats/neural_field/residual.py": "in memory",
    "formats/tiff/folder.py": GROWING,
    "infer/memory.py": "in the cache",
    "infer/network_files/package.py": "exclusively, in a new folder",
    "infer/objects/object_tasks.py": OPENED,
    "instance/lifecycle/recent_files.py": "in memory",
    "instance/reconstruction/previews.py": "in memory",
    "instance/reconstruction/command_run.py": OWN,
    "instance/routes/recent.py": OPENED,
    "instance/routes/sources.py": OWN,
    "jobs/file_locks.py": "an empty file, never through a link",
    "jobs/local.py": OWN,
    "learn/denoise/objective.py": GROWING,
    "learn/denoise/pipeline.py": GROWING,
    "learn/networks/network_folder.py": GROWING,
    "learn/report/figure.py": OPENED,
    "learn/report/png.py": "in memory",
    "learn/superres/stages.py": GROWING,
    "learn/training/event_files.py": GROWING,
    "learn/training/state_folder.py": GROWING,
    "neural/checkpoints.py": OPENED,
    "rendering/figures/image_files.py": "in memory",
    "rendering/figures/slice_files.py": OPENED,
    "rendering/frame.py": OPENED,
    "rendering/geometry/obj.py": OPENED,
    "rendering/movie.py": OPENED,
    "volume/cache.py": "in the cache, with a name that cannot be guessed",
}
"""Modules that write otherwise, and why that is safe. Another one needs a reason that was thought through."""

CALLS = re.compile(
    r"np\.(save|savez|savez_compressed|savetxt)|shutil\.(copy|copy2|copyfile|copytree|move)|os\.(mkfifo|mknod)"
    r"|tifffile\.(imwrite|TiffWriter)|(nibabel|nib|torch|onnx|nrrd|imageio|cv2)\.(save|write|imwrite)"
    r"|.*\.(tofile|write_text|write_bytes)|(Image\.fromarray|ImageOps|.*\bimage|.*drawn\(\)).*\.save|.*\.touch"
)
OPENERS = re.compile(r"(.*\.)?(open|fdopen|File|ZipFile|TarFile)|os\.open|av\.open|tarfile\.open")
NO_FILES = re.compile(r"(self|.*channel|.*idle|.*drawing|session)\.(write_text|write_bytes|touch)")


def test_outputs_are_written_in_one_step() -> None:
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if _writes(ast.parse(path.read_text()))}
    assert found - WRITERS.keys() == set(), "use written_whole or write_whole of formats/local_files.py"
    assert WRITERS.keys() - found == set(), "no longer needed here"


def _writes(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Call) and _is_writing(node) for node in ast.walk(tree))


def _is_writing(call: ast.Call) -> bool:
    """Whether a file is written, or opened for that, by a call such as path.write_text(…) or h5py.File(…, "w")."""
    name = ast.unparse(call.func)
    if NO_FILES.fullmatch(name):
        return False
    if CALLS.fullmatch(name):
        return True
    if not OPENERS.fullmatch(name):
        return False
    given = [*call.args, *(word.value for word in call.keywords if word.arg in ("mode", "flags"))]
    modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    # Flags that have a name are not known here: they count.
    is_created = name == "os.open" and re.search(r"O_CREAT|^(?!os\.O_)", ast.unparse(call.args[1])) is not None
    return is_created or any(mode[:1] in ("w", "a", "x") and set(mode) <= set("waxbt+:gz") for mode in modes)


@pytest.mark.parametrize(
    "text",
    [
        'open(p, "w")', 'p.open("ab")', "p.write_text(t)", 'open(p, mode="x")', 'os.fdopen(n, "w+b")', "np.save(p, a)",
        'h5py.File(p, "w")', 'zipfile.ZipFile(p, "a")', "shutil.copy(p, q)", "os.open(p, os.O_CREAT | os.O_RDWR)",
        "os.open(p, flags)",
        "tifffile.imwrite(p, a)", "a.tofile(p)", 'Image.fromarray(a).save(p, "PNG")', "(folder / STOP).touch()",
        'tarfile.open(p, "w:gz")', 'av.open(p, "w")', "torch.save(a, p)",
    ],
)  # fmt: skip
def test_what_counts_as_writing(text: str) -> None:
    assert _writes(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "open(p)", 'p.open("rb")', "self._channel.write_bytes(b)", 'archive.open("w.txt")', "session.idle.touch()",
        'h5py.File(p, "r")', "os.open(p, os.O_RDONLY)", "np.load(p)", "painting.save(session, 1, p)",
    ],
)  # fmt: skip
def test_what_does_not(text: str) -> None:
    assert not _writes(ast.parse(text))
