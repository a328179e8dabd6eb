"""Scans that are folders of TIFF files: projections, flats and darks told apart by their names.

Here: names such as raw_0001.tif beside flat_0001.tif, or one subfolder for each; angles.txt beside them.
Not here: TIFF (formats), spelling of angles (angles).
"""

import re
from collections import Counter
from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.tomo.reading.angles import angles_from_file, fitted
from pellucid.tomo.reading.assembly import Found, ScanOptions
from pellucid.tomo.scan import Floats, Frames
from pellucid.volume.volume import open_volume

_FLAT = re.compile(r"(^|[^a-z])(flats?|flat_?fields?|whites?|brights?|refs?|ff|i0|open_?beam)([^a-z]|$)", re.IGNORECASE)
_DARK = re.compile(r"(^|[^a-z])(darks?|dark_?fields?|bias|df)([^a-z]|$)", re.IGNORECASE)
_ANGLES = ("angles.txt", "angles.csv", "angles.dat", "angles.npy", "theta.txt", "theta.npy")
_TIFF = (".tif", ".tiff")


def find_folder(folder: Path, options: ScanOptions, *, is_growing: bool = False) -> Found:
    """What the names in a folder say."""
    places = _places(folder)
    flats = [place for place in places if _FLAT.search(place)]
    darks = [place for place in places if _DARK.search(place)]
    others = {place: count for place, count in places.items() if place not in (*flats, *darks)}
    is_pattern = options.projections and not options.projections.startswith("frames:")
    chosen = options.projections if is_pattern else max(others, key=lambda place: others[place], default="")
    if not chosen:
        raise InvalidInput(
            f"{folder} holds no TIFF files that look like projections.",
            do=f"Name them with --projections; it holds {', '.join(places) or 'no TIFF files'}.",
        )
    projections = _frames(folder, chosen)
    return Found(
        "TIFF folder",
        folder,
        projections,
        projections,
        _only(folder, flats, "flats"),
        _only(folder, darks, "darks"),
        _angles(folder, projections.count, is_growing=is_growing),
    )


def is_scan_folder(folder: Path) -> bool:
    """Whether names tell of flats and of something else; no file is opened."""
    flats = [bool(_FLAT.search(place)) for place in _places(folder)]
    return any(flats) and not all(flats)


def holds_tiff(folder: Path) -> bool:
    return bool(_places(folder))


def _places(folder: Path) -> Counter[str]:
    """Kinds of TIFF files in a folder and its subfolders, as patterns below it, and how many there are of each."""
    files = [*folder.iterdir(), *(file for inside in folder.iterdir() if inside.is_dir() for file in inside.iterdir())]
    names = [str(file.relative_to(folder)) for file in files if file.suffix.lower() in _TIFF]
    return Counter(re.sub(r"\d+(?=[^/]*$)", "[0-9]*", name) for name in names if "/." not in f"/{name}")


def _frames(folder: Path, pattern: str) -> Frames:
    inside, _, name = pattern.rpartition("/")
    return Frames.whole(open_volume(f"{folder / inside}:/{name}"))


def _only(folder: Path, patterns: list[str], what: str) -> Frames | None:
    if len(patterns) > 1:
        raise InvalidInput(
            f"{folder} holds several kinds of {what}: {', '.join(patterns)}.", do=f"Name those meant with --{what}."
        )
    return _frames(folder, patterns[0]) if patterns else None


def _angles(folder: Path, count: int, *, is_growing: bool) -> Floats | None:
    path = next((folder / name for name in _ANGLES if (folder / name).is_file()), None)
    return fitted(angles_from_file(path), count, str(path), is_growing=is_growing) if path else None
