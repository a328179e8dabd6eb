"""A Scan from what a file says and what a person says.

Here: ScanOptions, Found, and assemble(), which refuses a scan that lacks something nobody spoke of.
Not here: looking into files (one module for each kind), spelling of angles (angles).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.tomo.reading.angles import angles_from_text
from pellucid.tomo.scan import Floats, Frames, Scan
from pellucid.volume.volume import open_volume

NONE = "none"
_FRAMES = "frames:"


@dataclass(frozen=True)
class ScanOptions:
    """What a person says of a scan; everything that is empty is taken from the file.

    projections, flats, darks: the name of a dataset in the file, the path of another file, or some of the file's own
    frames as ``frames:0:10``. flats, darks: also ``none``, where the projections are corrected already.
    angles: ``0:180`` in degrees, evenly spaced with the end left out; ``0:180:inclusive``; or a dataset or a file.
    """

    projections: str = ""
    flats: str = ""
    darks: str = ""
    angles: str = ""
    pixel_size_um: float | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """What a file says of itself. all_frames: as stored, before they are told apart."""

    kind: str
    path: Path
    all_frames: Frames
    projections: Frames
    flats: Frames | None = None
    darks: Frames | None = None
    angles_deg: Floats | None = None
    pixel_size_um: float | None = None
    assumptions: tuple[str, ...] = ()

    def close(self) -> None:
        for frames in (self.all_frames, self.projections, self.flats, self.darks):
            if frames is not None:
                frames.volume.close()


def assemble(name: str, found: Found, options: ScanOptions) -> Scan:
    """The scan; an error where flats, darks or angles are neither found nor spoken of."""
    is_numbered = options.projections.startswith(_FRAMES)
    projections = _numbered(found.all_frames, options.projections) if is_numbered else found.projections
    angles_deg, spoken = _angles(name, found, options, projections.count)
    flats = _calibration(name, found, "flats", options.flats, found.flats)
    darks = _calibration(name, found, "darks", options.darks, found.darks)
    assumptions = [*found.assumptions, *spoken]
    assumptions += [] if flats else ["There are no flats: projections are taken to be transmissions."]
    assumptions += [] if darks else ["There are no darks: the detector is taken to give 0 without beam."]
    return Scan(
        name,
        found.kind,
        projections,
        np.deg2rad(angles_deg),
        flats,
        darks,
        pixel_size_um=options.pixel_size_um or found.pixel_size_um,
        assumptions=tuple(assumptions),
    )


def _angles(name: str, found: Found, options: ScanOptions, count: int) -> tuple[Floats, list[str]]:
    if options.angles:
        return angles_from_text(options.angles, found.path, count), [f"Angles as given: {options.angles}."]
    if found.angles_deg is None:
        raise InvalidInput(
            f"{name} does not say at which angles its {count} projections were taken.",
            do="Give them: --angles 0:180 (evenly spaced), --angles 0:180:inclusive, or a file with one per line.",
        )
    return found.angles_deg, []


def _calibration(name: str, found: Found, what: str, asked: str, own: Frames | None) -> Frames | None:
    if asked == NONE:
        return None
    frames = _chosen(found, asked) if asked else own
    if frames is None or frames.count == 0:
        raise InvalidInput(
            f"{name} has no {what}.",
            do=f"Name them with --{what} (a dataset, a file, or frames:0:10), or say --{what} none.",
        )
    # Frames of another dataset or file carry no time that could be compared.
    return frames if frames.volume is found.all_frames.volume else frames.untimed()


def _chosen(found: Found, text: str) -> Frames:
    """Frames by number, by a dataset or a pattern of names inside, or in a file of their own."""
    if text.startswith(_FRAMES):
        return _numbered(found.all_frames, text)
    beside = (found.path if found.path.is_dir() else found.path.parent) / text
    if Path(text).exists() or beside.exists():
        return Frames.whole(open_volume(text if Path(text).exists() else beside))
    return Frames.whole(open_volume(f"{found.path}:/{text.lstrip('/')}"))


def _numbered(frames: Frames, text: str) -> Frames:
    first, _, stop = text.removeprefix(_FRAMES).partition(":")
    if not (first.isdecimal() and stop.isdecimal() and int(first) < int(stop) <= frames.count):
        raise InvalidInput(
            f"{text!r} does not name frames of {frames.count}.", do=f"Write frames:0:10, within 0:{frames.count}."
        )
    return frames.choose(slice(int(first), int(stop)))
