"""HiPic scans as SPring-8 writes them: frames, output.log, and dark.img beside them.

Here: reading the log, and telling projections from I0 frames by it.
Not here: the bytes of frames (formats).

The log has one line for each frame: its number, time, angle in degrees, and type (0: I0, without the sample; 1:
projection). The number says which frame it is, whatever the order of the lines; text behind the numbers is skipped.
Logs without the number are in the order of the frames.
"""

import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from pellucid.errors import EmptyFile, InvalidInput
from pellucid.formats.byte_sources import read_text
from pellucid.formats.hipic import is_image
from pellucid.tomo.scan import Floats, Frames
from pellucid.tomo.scan_files.assembly import ScanContents
from pellucid.tomo.scan_files.frame_numbers import FrameNumbers, in_natural_order
from pellucid.volume.volume import open_volume

LOG = "output.log"
DARKS = ("dark.img", "dark.his")
FLAT, PROJECTION = 0, 1


@dataclass(frozen=True, eq=False)
class Log:
    """One entry for each frame, in the order of the frames. kinds: FLAT or PROJECTION."""

    times: Floats
    angles_deg: Floats
    kinds: Floats


def find_hipic(path: Path) -> ScanContents:
    """A .his file, or a folder of .img files; the log and the darks are beside the frames."""
    folder = path if path.is_dir() else path.parent
    all_frames = Frames.whole(open_volume(f"{path}:/{_frame_names(path)}" if path.is_dir() else path))
    darks = next((Frames.whole(open_volume(folder / name)) for name in DARKS if (folder / name).is_file()), None)
    darks = darks and darks.untimed()
    files = tuple(folder / name for name in (LOG, *DARKS) if (folder / name).is_file())
    names = _named(path) if path.is_dir() else []
    numbers = FrameNumbers.of(names) if len(names) == all_frames.count else None
    if not (folder / LOG).is_file():
        return ScanContents("HiPic", path, all_frames, all_frames, None, darks, files=files, numbers=numbers)
    log = read_log(folder / LOG)
    if len(log.times) != all_frames.count:
        raise InvalidInput(
            f"{folder / LOG} lists {len(log.times)} frames, but {path} has {all_frames.count}.",
            remedy="Use the log of this scan, or remove it and set --flats, --angles and --projections.",
        )
    timed = Frames(all_frames.volume, all_frames.indices, log.times)
    is_projection = log.kinds == PROJECTION
    text = f"{LOG} is read as number, time, angle in degrees, and 0 for I0 or 1 for a projection."
    return ScanContents(
        "HiPic",
        path,
        timed,
        timed.choose(is_projection),
        timed.choose(log.kinds == FLAT),
        darks,
        log.angles_deg,
        assumptions=(text,),
        files=files,
    )


def _frame_names(folder: Path) -> str:
    """The pattern that most of the images in a folder follow, apart from darks."""
    names = [entry.name for entry in folder.iterdir() if is_image(entry.name) and entry.name.lower() not in DARKS]
    kinds = Counter(re.sub(r"\d+", "[0-9]*", name) for name in names)
    if not kinds:
        raise EmptyFile(str(folder), "HiPic frames")
    return kinds.most_common(1)[0][0]


def _named(folder: Path) -> list[str]:
    """The images that the frames are read from, in their order."""
    pattern = _frame_names(folder)
    return in_natural_order(name for entry in folder.iterdir() if fnmatch(name := entry.name, pattern))


def read_log(path: Path) -> Log:
    """Number, time, angle and type of every frame; lines that begin with fewer than three numbers are skipped."""
    rows = [_numbers(line) for line in read_text(path).splitlines()]
    rows = [row for row in rows if len(row) >= 3]
    numbered = [row[:4] for row in rows if len(row) >= 4]
    if rows and len(numbered) == len(rows) and all(row[3] in (FLAT, PROJECTION) for row in numbered):
        table = _in_order(path, np.array(numbered))
    else:
        table = np.array([row[:3] for row in rows]).reshape(-1, 3)
    if not len(table) or not np.isin(table[:, 2], (FLAT, PROJECTION)).all() or not np.isfinite(table).all():
        raise InvalidInput(
            f"{path} is not a frame log: its lines should be number, time, angle, and 0 (I0) or 1 (projection).",
            remedy="Remove it and set --flats, --angles and --projections, for example --flats frames:0:10.",
        )
    return Log(*table.T)


def _in_order(path: Path, table: Floats) -> Floats:
    """Time, angle and type, sorted by the number of the frame."""
    numbers, counts = np.unique(table[:, 0], return_counts=True)
    if len(numbers) < len(table):
        repeated = ", ".join(f"{number:g}" for number in numbers[counts > 1][:5])
        raise InvalidInput(
            f"{path} has several lines for the frames {repeated}.", remedy="Keep one line for each number of a frame."
        )
    return np.asarray(table[np.argsort(table[:, 0]), 1:])


def _numbers(line: str) -> list[float]:
    """Those at the beginning of a line."""
    numbers = []
    for word in line.replace(",", " ").replace(";", " ").split():
        try:
            numbers.append(float(word))
        except ValueError:
            break
    return numbers
