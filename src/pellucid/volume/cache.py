"""Small results that are expensive to compute, stored in the cache folder.

Here: storing and loading arrays under a volume's name and fingerprint.
Not here: what is stored (statistics). Nothing is ever written beside the data, which may be read-only.
"""

import hashlib
import logging
import tempfile
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.settings import current, make_private_folder

log = logging.getLogger(__name__)


def load(location: Location, name: str) -> tuple[Voxels, Voxels] | None:
    """What was stored under this name, if the volume is still the same."""
    path = _path(location, name)
    if path is None:
        return None
    try:
        with np.load(path) as arrays:
            return arrays["first"], arrays["second"]
    except (OSError, KeyError, ValueError, BadZipFile):
        return None


def store(location: Location, name: str, arrays: tuple[Voxels, Voxels]) -> None:
    """Keep two arrays; a cache that cannot be written is no error, only slower."""
    path = _path(location, name)
    if path is None:
        return
    try:
        make_private_folder(path.parent)
        _write_whole(path, arrays)
    except OSError as error:
        log.warning("%s was not cached: %s. Set cache_folder to a writable folder.", name, error)


def _write_whole(path: Path, arrays: tuple[Voxels, Voxels]) -> None:
    """Written aside and renamed, so that another process never sees half of it."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
        np.savez(file, first=arrays[0], second=arrays[1])
    Path(file.name).replace(path)


def _path(location: Location, name: str) -> Path | None:
    if location.is_memory:
        return None
    key = hashlib.sha256(f"{location.absolute} {fingerprint(location)}".encode()).hexdigest()[:32]
    return current().cache_folder / "statistics" / f"{key}-{name}.npz"
