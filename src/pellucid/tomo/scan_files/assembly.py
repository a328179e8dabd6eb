"""Building a Scan from the content of a file and the options of the user.

Here: ScanOptions, ScanContents, and build_scan(), which raises an error if a part of the scan is missing.
Not here: looking into files (one module for each kind), spelling of angles (angles).
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.tomo.number_check import check_number
from pellucid.tomo.scan import Floats, Frames, Scan
from pellucid.tomo.scan_files.angles import angles_from_text, fitted, is_range, radian_warnings
from pellucid.tomo.scan_files.frame_names import When, when_of
from pellucid.tomo.scan_files.frame_numbers import FrameNumbers
from pellucid.volume.stack import stack
from pellucid.volume.volume import open_volume

NONE = "none"
SEPARATOR = ";"
_FRAMES = "frames:"


@dataclass(frozen=True)
class ScanOptions:
    """What a user says of a scan; everything that is empty is taken from the file.

    projections, flats, darks: the name of a dataset in the file, the path of another file, or some of the file's own
    frames as ``frames:0:10``. flats, darks: also ``none``, where the projections are corrected already; or several in
    the order of time with ``;`` between them, the first taken before the projections and the last after them.
    angles: ``0:180`` in degrees, evenly spaced with the end left out; ``0:180:inclusive``; or a dataset or a file.
    is_repaired: whether dead and hot pixels of the detector are replaced by their neighbours.
    """

    projections: str = ""
    flats: str = ""
    darks: str = ""
    angles: str = ""
    pixel_size_um: float | None = None
    is_repaired: bool = True

    def __post_init__(self) -> None:
        if self.pixel_size_um is not None:
            check_number("The pixel size in micrometres", self.pixel_size_um, above=0)


@dataclass(frozen=True, eq=False)
class ScanContents:
    """What a file states. all_frames: as stored, before they are sorted. angles_deg: of all frames, of the
    projections, or of those that are left without the frames that are named as flats and darks. files: that were read
    besides ``path``. numbers: of all frames, where some are missing."""

    kind: str
    path: Path
    all_frames: Frames
    projections: Frames
    flats: Frames | None = None
    darks: Frames | None = None
    angles_deg: Floats | None = None
    pixel_size_um: float | None = None
    assumptions: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    numbers: FrameNumbers | None = None

    def close(self) -> None:
        for frames in (self.all_frames, self.projections, self.flats, self.darks):
            if frames is not None:
                frames.volume.close()


def build_scan(name: str, found: ScanContents, options: ScanOptions) -> Scan:
    """The scan; an error where flats, darks or angles are neither found nor spoken of."""
    is_numbered = options.projections.startswith(_FRAMES)
    projections = (
        _numbered(found.all_frames, options.projections)
        if is_numbered
        else without_calibration(found.projections, found.all_frames, options)
    )
    angles_deg, spoken = _angles(name, found, options, projections)
    found = replace(found, projections=projections)
    flats = _calibration(name, found, "flats", options.flats)
    darks = _calibration(name, found, "darks", options.darks)
    assumptions = [*found.assumptions, *spoken, *radian_warnings(angles_deg)]
    assumptions += [] if flats else ["No flats: projections are assumed to be transmissions."]
    assumptions += [] if darks else ["No darks: the dark level is assumed to be 0."]
    return Scan(
        name,
        found.kind,
        projections,
        np.deg2rad(angles_deg),
        flats,
        darks,
        pixel_size_um=options.pixel_size_um or found.pixel_size_um,
        assumptions=tuple(assumptions),
        inputs=_inputs(found, options),
    )


def _inputs(found: ScanContents, options: ScanOptions) -> tuple[Location, ...]:
    """Every file and folder that the scan is read from, each once."""
    texts = (options.projections, options.flats, options.darks)
    named = [part.strip() for text in texts for part in text.split(SEPARATOR)]
    parts = [_location(found.path, name) for name in named if name and name != NONE and not name.startswith(_FRAMES)]
    frames = (found.all_frames, found.projections, found.flats, found.darks)
    parts += [one.volume.location for one in frames if one is not None]
    angles = [Path(options.angles)] if options.angles and Path(options.angles).is_file() else []
    paths = [found.path, *(part.local for part in parts if not part.is_memory), *found.files, *angles]
    return tuple(Location(str(path)) for path in dict.fromkeys(path.absolute() for path in paths))


def without_calibration(projections: Frames, all_frames: Frames, options: ScanOptions) -> Frames:
    """The projections less the frames that are named by number as flats or darks."""
    named = [part.strip() for request in (options.flats, options.darks) for part in request.split(SEPARATOR)]
    taken_out = [_numbered(all_frames, part).indices for part in named if part.startswith(_FRAMES)]
    if not taken_out:
        return projections
    is_left = ~np.isin(projections.indices, np.concatenate(taken_out))
    if not is_left.any():
        raise InvalidInput("All frames are listed as flats or darks.", remedy="Leave some frames as projections.")
    return projections.choose(is_left)


def _angles(name: str, found: ScanContents, options: ScanOptions, projections: Frames) -> tuple[Floats, list[str]]:
    series = found.numbers.series(projections) if found.numbers else None
    missing = [series.sentence(found.path)] if series else []
    if options.angles:
        given = angles_from_text(options.angles, found.path, series.count if series else projections.count)
        if series and is_range(options.angles):
            series.check(found.path, options.angles)
        chosen = _of_projections(given.angles_deg, options.angles, found, projections)
        return chosen, [f"Angles as given: {options.angles}{given.origin and f', {given.origin}'}.", *missing]
    if found.angles_deg is None:
        raise InvalidInput(
            f"{name} does not state the angles of its {projections.count} projections.",
            remedy="Set them: --angles 0:180 (evenly spaced), --angles 0:180:inclusive, or a file with one per line.",
        )
    return _of_projections(found.angles_deg, name, found, projections), missing


def _of_projections(angles_deg: Floats, name: str, found: ScanContents, projections: Frames) -> Floats:
    """The angles of the projections that are used, out of one for each of these, for each frame of the file, or for
    each of a series of which some are missing."""
    for frames in (found.projections, found.all_frames):
        if len(angles_deg) == frames.count and np.isin(projections.indices, frames.indices).all():
            return np.asarray(angles_deg[np.searchsorted(frames.indices, projections.indices)])
    series = found.numbers.series(projections) if found.numbers else None
    if series and len(angles_deg) == series.count:
        return np.asarray(angles_deg[series.positions])
    return fitted(angles_deg, projections.count, name)


def _calibration(name: str, found: ScanContents, what: Literal["flats", "darks"], request: str) -> Frames | None:
    if request == NONE:
        return None
    frames = _several(found, request) if request else found.flats if what == "flats" else found.darks
    if frames is None or frames.count == 0:
        raise InvalidInput(
            f"{name} has no {what}.",
            remedy=f"Set them with --{what} (a dataset, a file, or frames:0:10), or use --{what} none.",
        )
    return frames


def _several(found: ScanContents, request: str) -> Frames:
    """Frames of one or more names, each taken when its name says, or else in the order of the names."""
    names = [part.strip() for part in request.split(SEPARATOR) if part.strip()]
    parts = []
    for index, name in enumerate(names):
        frames = _chosen(found, name)
        if frames.volume is not found.all_frames.volume:
            # Frames of another dataset or file carry no time that could be compared.
            share = {"before": 0.0, "after": 1.0}.get(_when(name), index / max(1, len(names) - 1))
            frames = taken(frames, found.projections, share)
        parts.append(frames)
    return joined(parts)


def _when(name: str) -> When:
    """As a name says, or else the folder inside that of the scan; folders around a scan may be called anything."""
    *folders, own = Path(name).parts
    return when_of(own) or ("" if Path(name).is_absolute() or not folders else when_of(folders[-1]))


def taken(frames: Frames, projections: Frames, share: float) -> Frames:
    """Frames taken together: at 0 one by one before the first projection, at 1 after the last, else between them."""
    first, last = float(projections.times.min()), float(projections.times.max())
    step = (last - first) / max(1, projections.count - 1) or 1.0
    one_by_one = step * np.arange(1, frames.count + 1)
    if share in (0.0, 1.0):
        times = last + one_by_one if share else first - one_by_one[::-1]
    else:
        times = np.full(frames.count, first + share * (last - first))
    return Frames(frames.volume, frames.indices, np.asarray(times, np.float64))


def joined(parts: list[Frames]) -> Frames:
    """Frames of one volume or of several, in one."""
    volumes = list({id(part.volume): part.volume for part in parts}.values())
    starts = dict(
        zip(map(id, volumes), np.cumsum([0, *(volume.shape[0] for volume in volumes)]).tolist(), strict=False)
    )
    indices = np.concatenate([part.indices + starts[id(part.volume)] for part in parts])
    return Frames(stack(volumes), indices, np.concatenate([part.times for part in parts]))


def _chosen(found: ScanContents, text: str) -> Frames:
    """Frames by number, by a dataset or a pattern of names inside, or in a file of their own."""
    if text.startswith(_FRAMES):
        return _numbered(found.all_frames, text)
    return Frames.whole(open_volume(_location(found.path, text)))


def _location(scan: Path, text: str) -> Location:
    """Where named frames are: a file of their own, files in a folder of the scan, or a dataset of its file."""
    beside = (scan if scan.is_dir() else scan.parent) / text
    if Path(text).exists() or beside.exists():
        return Location.parse(text if Path(text).exists() else beside)
    inside, _, name = text.rpartition("/")
    if inside and ".." not in Path(text).parts and not Path(text).is_absolute() and (scan / inside).is_dir():
        return Location.parse(f"{scan / inside}:/{name}")
    return Location.parse(f"{scan}:/{text.lstrip('/')}")


def _numbered(frames: Frames, text: str) -> Frames:
    first, _, stop = text.removeprefix(_FRAMES).partition(":")
    if not (first.isdecimal() and stop.isdecimal() and int(first) < int(stop) <= frames.count):
        raise InvalidInput(f"Invalid frames {text!r}.", remedy=f"Write frames:0:10, within 0:{frames.count}.")
    return frames.choose(slice(int(first), int(stop)))
