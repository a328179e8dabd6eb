"""The files that the user opened last: one small file, which only its owner can read.

Here: RecentFileStore: what was opened, the folder that was browsed last, a small image of each file.
Not here: who may see it (routes.recent), what may be opened (roots).
"""

import base64
import io
import logging
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.jobs.private_files import private_folder, read_dataclass, write_json
from pellucid.settings import current

log = logging.getLogger(__name__)

MAX_FILES = 12
MAX_SOURCE_CHARACTERS = 4096
THUMBNAIL = (160, 120)
"""Width and height in pixels."""
JPEG_QUALITY = 80


@dataclass(frozen=True)
class RecentFileRecord:
    """source: its location. opened_at: seconds since 1970. thumbnail: a JPEG in base64; "" before it was drawn."""

    source: str
    opened_at: float
    thumbnail: str = ""


@dataclass(frozen=True)
class RecentFileRecords:
    """The latest first. folder: the one that was browsed last."""

    files: tuple[RecentFileRecord, ...] = ()
    folder: str = ""


class RecentFileStore:
    """Any thread may call it. Several viewers write the same file, each of them whole: the last one counts."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or current().state_folder / "recent" / "files.json"
        self._turn = threading.Lock()
        self._without_image = ""

    def read(self) -> RecentFileRecords:
        return read_dataclass(RecentFileRecords, self._path) or RecentFileRecords()

    def has(self, source: str) -> bool:
        return any(one.source == source for one in self.read().files)

    def add(self, source: str) -> None:
        """A file was opened."""
        if len(source) > MAX_SOURCE_CHARACTERS:
            return
        with self._turn:
            known = self.read()
            thumbnail = next((one.thumbnail for one in known.files if one.source == source), "")
            others = [one for one in known.files if one.source != source]
            latest = RecentFileRecord(source, time.time(), thumbnail)
            self._write(replace(known, files=(latest, *others)[:MAX_FILES]))
            self._without_image = source

    def wants_image(self, source: str) -> bool:
        """Whether a file was opened whose image has not been seen since."""
        return bool(source) and source == self._without_image

    def set_image(self, source: str, pixels: Voxels) -> None:
        """The first image of a file; pixels: (height, width, 3 or 4)."""
        with self._turn:
            if not self.wants_image(source):
                return
            self._without_image = ""
            known = self.read()
            thumbnail = _thumbnail(pixels)
            files = (replace(one, thumbnail=thumbnail) if one.source == source else one for one in known.files)
            self._write(replace(known, files=tuple(files)))

    def set_folder(self, folder: str) -> None:
        """A folder was browsed."""
        with self._turn:
            known = self.read()
            if folder != known.folder and len(folder) <= MAX_SOURCE_CHARACTERS:
                self._write(replace(known, folder=folder))

    def clear(self) -> None:
        with self._turn:
            self._write(RecentFileRecords())

    def _write(self, files: RecentFileRecords) -> None:
        try:
            private_folder(self._path.parent)
            write_json(self._path, asdict(files))
        except OSError as error:  # A full disk; nothing depends on the list.
            log.warning("The recent files were not saved: cannot write %s: %s.", self._path, error.strerror)


def still_exists(source: str) -> bool:
    """Whether a recent file can be opened; of a remote one that is not checked."""
    location = Location.parse(source)
    try:
        return location.is_remote or location.local.exists()
    except OSError:
        return False


def _thumbnail(pixels: Voxels) -> str:
    """The middle of an image, made small."""
    from PIL import Image, ImageOps

    stream = io.BytesIO()
    ImageOps.fit(Image.fromarray(pixels[..., :3]), THUMBNAIL).save(stream, "jpeg", quality=JPEG_QUALITY)
    return base64.b64encode(stream.getvalue()).decode()
