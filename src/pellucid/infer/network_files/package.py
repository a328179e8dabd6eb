"""Networks that are more than one file: bioimage.io's packages, which are ZIP files, and folders with a manifest.

Here: unpack, for a package that may be damaged or malicious; pack, for sending one to another machine.
Not here: what the manifest says (manifest).
"""

import io
import os
import zipfile
from pathlib import Path, PurePosixPath

from pellucid.errors import Corrupted, InvalidInput, NotFound
from pellucid.formats.local_files import open_local
from pellucid.infer.network_files.manifest import MAX_BYTES, NAMES, find_manifest, read_manifest

ENDING = ".zip"
MAX_FILES = 256
MAX_UNPACKED_BYTES = 2**32
MAX_GROWTH = 100
MIN_UNPACKED_BYTES = 2**26
"""A package may become as many times as long as it is, or this long: weights can hardly be compressed."""
PIECE_BYTES = 2**20


def is_package(path: Path) -> bool:
    return path.suffix.lower() == ENDING


def unpack(path: Path, folder: Path) -> Path:
    """Write the files of a package into a folder that exists; its manifest."""
    try:
        with os.fdopen(open_local(path), "rb") as file, zipfile.ZipFile(file) as package:
            entries = [entry for entry in package.infolist() if not entry.is_dir()]
            _check(path, entries)
            for entry in entries:
                _write(package, entry, folder / entry.filename)
    except FileNotFoundError:
        raise NotFound(str(path)) from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise Corrupted(str(path), "it is not a complete ZIP file") from error
    manifest = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if manifest is None:
        remedy = "Use a package of bioimage.io, or an ONNX file."
        raise InvalidInput(f"{path} contains no bioimageio.yaml.", remedy=remedy)
    return manifest


def _check(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Refuse names that lead elsewhere, and more than a network has."""
    for entry in entries:
        name = PurePosixPath(entry.filename)
        if name.is_absolute() or ".." in name.parts or "\\" in entry.filename or "\0" in entry.filename:
            raise Corrupted(str(path), f"it names the file {entry.filename!r}")
    packed, unpacked = path.stat().st_size, sum(entry.file_size for entry in entries)
    max_bytes = min(MAX_UNPACKED_BYTES, max(MIN_UNPACKED_BYTES, MAX_GROWTH * packed))
    if len(entries) > MAX_FILES or unpacked > max_bytes:
        raise Corrupted(str(path), f"it has more than {MAX_FILES} files, or unpacks to more than {max_bytes:,} bytes")
    if any(entry.file_size > MAX_BYTES for entry in entries if entry.filename in NAMES):
        raise Corrupted(str(path), f"a description of a network has at most {MAX_BYTES:,} bytes")


def _write(package: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    """A file of at most the size that it states, whatever its compressed bytes contain."""
    target.parent.mkdir(parents=True, exist_ok=True)
    left = entry.file_size
    with package.open(entry) as source, target.open("xb") as file:
        while piece := source.read(min(PIECE_BYTES, left + 1)):
            left -= len(piece)
            if left < 0:
                raise zipfile.BadZipFile("a file is longer than it states")
            file.write(piece)


def pack(path: Path) -> tuple[str, bytes]:
    """A network as one file, for sending it: its name and content. A manifest goes with the files that it names."""
    described = find_manifest(path)
    if described is None:
        return path.name, _content(path)
    manifest = read_manifest(described)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as package:
        package.writestr(NAMES[0], _content(described))
        folder = described.resolve().parent
        for file in sorted({manifest.model, *manifest.test_inputs, *manifest.test_outputs}):
            package.writestr(str(file.relative_to(folder)), _content(file))
    return f"{described.resolve().parent.name}{ENDING}", content.getvalue()


def _content(path: Path) -> bytes:
    try:
        with os.fdopen(open_local(path), "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFound(str(path)) from None
