"""Scans that are folders of TIFF files: projections, flats and darks, distinguished by name.

Here: names such as raw_0001.tif beside flat_0001.tif, or a subfolder for each, such as Tomo, Flat_Before, Flat_After.
Not here: what a name says (frame_names), TIFF (formats), files with angles (angle_files).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.tiff.folder import slices_in
from pellucid.tomo.scan import Frames
from pellucid.tomo.scan_files.angle_files import find_angles, has_angles
from pellucid.tomo.scan_files.assembly import ScanContents, ScanOptions, joined, taken, without_calibration
from pellucid.tomo.scan_files.frame_names import FrameName, read_name
from pellucid.tomo.scan_files.frame_numbers import FrameNumbers
from pellucid.volume.volume import open_volume

_TIFF = (".tif", ".tiff")


@dataclass(frozen=True)
class _Files:
    """Files of one kind. pattern: of their names, below the folder of the scan. name: what they say."""

    pattern: str
    names: tuple[str, ...]
    name: FrameName

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def inside(self) -> str:
        return self.pattern.rpartition("/")[0]


def find_folder(folder: Path, options: ScanOptions, *, is_growing: bool = False) -> ScanContents:
    """What the names in a folder say."""
    files = _files(folder)
    is_pattern = options.projections and not options.projections.startswith("frames:")
    chosen = options.projections if is_pattern else _projections(folder, files)
    projections, inside = _frames(folder, chosen), chosen.rpartition("/")[0]
    numbers = None if is_growing else _numbers(folder, chosen, files)
    used = without_calibration(projections, projections, options)
    series = numbers.series(used) if numbers else None
    counts = (used.count, projections.count, *([series.count] if series else []))
    nothing: tuple[None, list[str], tuple[()]] = (None, [], ())
    angles, reply, angle_files = (
        nothing if options.angles else find_angles(folder, inside, counts, is_growing=is_growing)
    )
    left_out = [one.pattern for one in files if one.pattern != chosen and one.name.kind not in ("flats", "darks")]
    reply += [f"These files are not used: {', '.join(left_out)}."] if left_out else []
    return ScanContents(
        "TIFF folder",
        folder,
        projections,
        projections,
        None if options.flats else _timed(folder, files, "flats", projections),
        None if options.darks else _timed(folder, files, "darks", projections),
        angles,
        assumptions=tuple(reply),
        files=angle_files,
        numbers=numbers,
    )


def is_scan_folder(folder: Path) -> bool:
    """Whether names tell of flats and of something else, or of projections with darks or angles; no file is opened."""
    kinds = {one.name.kind for one in _files(folder)}
    if "flats" in kinds:
        return kinds not in ({"flats"}, {"flats", "darks"})
    return "projections" in kinds and ("darks" in kinds or has_angles(folder))


def kinds_of_files(folder: Path) -> list[tuple[str, int, FrameName]]:
    """The pattern of every kind of TIFF files in a folder and its subfolders, how many there are, what names say."""
    return [(one.pattern, one.count, one.name) for one in _files(folder)]


def holds_tiff(folder: Path) -> bool:
    return bool(_files(folder))


def _files(folder: Path) -> list[_Files]:
    """Kinds of TIFF files in a folder and its subfolders."""
    found: dict[str, list[str]] = {}
    listed = [*folder.iterdir(), *(file for inside in folder.iterdir() if inside.is_dir() for file in inside.iterdir())]
    for file in sorted(listed):
        name = file.relative_to(folder).as_posix()
        if file.suffix.lower() in _TIFF and "/." not in f"/{name}":
            found.setdefault(re.sub(r"\d+(?=[^/]*$)", "[0-9]*", name), []).append(name)
    return [_Files(pattern, tuple(names), read_name(names[0])) for pattern, names in found.items()]


def _projections(folder: Path, files: list[_Files]) -> str:
    """The pattern of the most numerous files that are called projections, or else are called nothing that is known."""
    for kind in ("projections", "", "opposite"):
        fitting = [one for one in files if one.name.kind == kind]
        if fitting:
            _refuse_several(folder, fitting)
            return max(fitting, key=lambda one: one.count).pattern
    listed = ", ".join(one.pattern for one in files) or "no TIFF files"
    raise InvalidInput(
        f"{folder} contains no TIFF files that look like projections.",
        remedy=f"Choose them with --projections; the folder contains {listed}.",
    )


def _refuse_several(folder: Path, fitting: list[_Files]) -> None:
    """Two sets of projections may be halves of one scan: choosing one of them would lose the other."""
    sets = [one for one in fitting if one.count > 1]
    if len(sets) < 2:
        return
    listed = " and ".join(f"{one.pattern} ({one.count} files)" for one in sets)
    raise InvalidInput(
        f"{folder} contains projections with several names: {listed}.",
        remedy=f"Choose one with --projections '{sets[0].pattern}', or rename the files so that their names are alike.",
    )


def _frames(folder: Path, pattern: str) -> Frames:
    inside, _, name = pattern.rpartition("/")
    return Frames.whole(open_volume(f"{folder / inside}:/{name}"))


def _numbers(folder: Path, pattern: str, files: list[_Files]) -> FrameNumbers | None:
    """Of the projections, where some are missing; flats and darks may be counted with them."""
    inside, _, name = pattern.rpartition("/")
    found = slices_in(Location.parse(f"{folder / inside}:/{name}"))
    others = [name for one in files if one.name.kind in ("flats", "darks") for name in one.names]
    return FrameNumbers.of([path.name for path in found], others)


def _timed(folder: Path, files: list[_Files], what: str, projections: Frames) -> Frames | None:
    """Flats or darks, before or after the projections as their names say. One group without a word is before."""
    fitting = [one for one in files if one.name.kind == what]
    when = [one.name.when or "before" for one in fitting]
    if len(set(when)) < len(when):
        listed = [one.pattern for one in fitting]
        remedy = "".join(f" --{what} '{pattern}'" for pattern in listed)
        raise InvalidInput(
            f"{folder} contains several kinds of {what}: {', '.join(listed)}.",
            remedy=f"Choose one, or several in the order of time:{remedy}.",
        )
    parts = [
        taken(_frames(folder, one.pattern), projections, 1.0 if at == "after" else 0.0)
        for one, at in sorted(zip(fitting, when, strict=True), key=lambda pair: pair[1] == "after")
    ]
    return joined(parts) if parts else None
