"""Scans in HDF5: Data Exchange, NXtomo, and any file whose datasets are named.

Here: finding frames, keys, angles and pixel size by the conventions of each.
Not here: voxels (formats), refusing what is incomplete (assembly).
"""

from pathlib import Path
from typing import Literal

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.hdf5.tree import Hdf5Tree
from pellucid.formats.units import METRES, short_unit
from pellucid.tomo.scan import Floats, Frames
from pellucid.tomo.scan_files.angles import fitted_to, in_degrees
from pellucid.tomo.scan_files.assembly import ScanContents, ScanOptions, joined, taken, without_calibration
from pellucid.volume.volume import open_volume

PROJECTION, FLAT, DARK = 0, 1, 2
_SAME_SIZE = 1e-3
"""Widths and heights of pixels that differ by less, relatively, are the same."""
FRAMES = "frames:"
_ANGLE_WORDS = ("rotation_angle", "theta", "angle")


def find_hdf5(path: Path, options: ScanOptions, *, is_growing: bool = False) -> ScanContents:
    """What a file says, by the first convention that it follows. is_growing: it may be unfinished."""
    with Hdf5Tree(path) as tree:
        if options.projections and not options.projections.startswith(FRAMES):
            return _named(path, tree, options)
        if tree.shape("/exchange/data") is not None:
            return _data_exchange(path, tree, options, is_growing=is_growing)
        keyed = (name for name in tree.groups("NXdetector") if _is_keyed(tree, name, is_growing=is_growing))
        if (detector := next(keyed, None)) is not None:
            return _nxtomo(path, tree, detector, options, is_growing=is_growing)
        _check_keys(path, tree)
        listed = _listed(tree)
    raise InvalidInput(
        f"{path} follows neither Data Exchange nor NXtomo.",
        remedy=f"Name its parts: --projections /NAME --flats /NAME --darks /NAME --angles /NAME. It holds: {listed}.",
    )


def _listed(tree: Hdf5Tree) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in tree.datasets() if len(shape) in (1, 3))


def _check_keys(path: Path, tree: Hdf5Tree) -> None:
    """An error where a detector has keys, but not one for each of its frames."""
    for detector in tree.groups("NXdetector"):
        frames, keys = tree.shape(f"{detector}/data"), tree.shape(f"{detector}/image_key")
        if frames is not None and len(frames) == 3 and keys is not None:
            raise InvalidInput(
                f"{detector}/image_key of {path} has the shape {keys}, but {detector}/data has {frames[0]} frames.",
                remedy=f"Correct image_key, or name the parts: --projections {detector}/data --flats frames:0:10 "
                "--darks none --angles 0:180.",
            )


def _named(path: Path, tree: Hdf5Tree, options: ScanOptions) -> ScanContents:
    name = f"/{options.projections.lstrip('/')}"
    if tree.shape(name) is None:
        raise InvalidInput(
            f"{path} has no dataset {name}, which --projections names.",
            remedy=f"Name one of its datasets: {_listed(tree)}.",
        )
    frames = Frames.whole(open_volume(f"{path}:{name}"))
    return ScanContents("HDF5 by dataset names", path, frames, frames)


def _data_exchange(path: Path, tree: Hdf5Tree, options: ScanOptions, *, is_growing: bool) -> ScanContents:
    frames = Frames.whole(open_volume(f"{path}:/exchange/data"))
    theta = tree.array("/exchange/theta")
    if is_growing and theta is not None:
        frames = frames.choose(slice(theta.size))
    angles = None
    if theta is not None and not options.angles:
        angles = in_degrees(theta.ravel(), tree.attribute("/exchange/theta", "units"), "/exchange/theta")
    counts = (without_calibration(frames, frames, options).count, frames.count)
    pixel, text = _length(
        tree, "/measurement/instrument/detector/pixel_size", "/measurement/instrument/detector/pixel_size_x"
    )
    return ScanContents(
        "Data Exchange",
        path,
        frames,
        frames,
        _calibration(path, tree, "white", frames),
        _calibration(path, tree, "dark", frames),
        None if angles is None else fitted_to(counts, angles, "/exchange/theta", is_growing=is_growing),
        pixel,
        text,
    )


def _calibration(path: Path, tree: Hdf5Tree, what: Literal["white", "dark"], projections: Frames) -> Frames | None:
    """Flats or darks, before and after the projections where the file says so; else all are one group.

    Files name two datasets (data_white_pre, data_white_post), or one that holds both: the mode of the acquisition is
    "Both" then, and either half has as many frames.
    """
    parts = []
    for when, share in (("pre", 0.0), ("start", 0.0), ("before", 0.0), ("post", 1.0), ("end", 1.0), ("after", 1.0)):
        name = f"/exchange/data_{what}_{when}"
        parts += [taken(_frames(path, tree, name), projections, share)] if _is_stack(tree, name) else []
    if parts:
        return joined(parts)
    name = f"/exchange/data_{what}"
    if not _is_stack(tree, name):
        return None
    frames, field = _frames(path, tree, name), "flat" if what == "white" else "dark"
    mode = tree.text(f"/process/acquisition/{field}_fields/{field}_field_mode").strip().lower()
    half = frames.count // 2
    if mode != "both" or 2 * half != frames.count:
        return taken(frames, projections, 1.0 if mode == "end" else 0.0)
    halves = (frames.choose(slice(half)), frames.choose(slice(half, None)))
    return joined([taken(part, projections, share) for part, share in zip(halves, (0.0, 1.0), strict=True)])


def _is_stack(tree: Hdf5Tree, name: str) -> bool:
    """Frames, or one frame: the average of several."""
    shape = tree.shape(name)
    return shape is not None and len(shape) in (2, 3)


def _frames(path: Path, tree: Hdf5Tree, name: str) -> Frames:
    if len(tree.shape(name) or ()) == 2 and (frame := tree.array(name)) is not None:
        return Frames.from_array(frame[None])
    return Frames.whole(open_volume(f"{path}:{name}"))


def _is_keyed(tree: Hdf5Tree, detector: str, *, is_growing: bool) -> bool:
    frames, keys = tree.shape(f"{detector}/data"), tree.shape(f"{detector}/image_key")
    if frames is None or len(frames) != 3 or keys is None:
        return False
    return keys == frames[:1] or is_growing


def _nxtomo(path: Path, tree: Hdf5Tree, detector: str, options: ScanOptions, *, is_growing: bool) -> ScanContents:
    frames = Frames.whole(open_volume(f"{path}:{detector}/data"))
    stored = tree.array(f"{detector}/image_key")
    keys = np.zeros(frames.count) if stored is None else stored.ravel()
    angles = None if options.angles else _nexus_angles(tree, detector, None if is_growing else frames.count)
    if is_growing:  # One of them may be a frame ahead of the others.
        known = min(frames.count, len(keys), *(() if angles is None else (len(angles),)))
        frames, keys, angles = frames.choose(slice(known)), keys[:known], None if angles is None else angles[:known]
    pixel, text = _pixel(tree, detector)
    return ScanContents(
        "NXtomo",
        path,
        frames,
        frames.choose(keys == PROJECTION),
        frames.choose(keys == FLAT),
        frames.choose(keys == DARK),
        angles,
        pixel,
        text,
    )


def _nexus_angles(tree: Hdf5Tree, detector: str, count: int | None) -> Floats | None:
    """The angle of every frame: the rotation angle of the sample, or else an axis that is named like one.

    count: of the frames; None where it is not known to be as many.
    """
    fits = [name for name, shape in tree.datasets() if len(shape) == 1 and count in (None, *shape)]
    named = [name for name in fits if not name.startswith(f"{detector}/")]
    for word in _ANGLE_WORDS:
        for name in named:
            if word in name.lower():
                values = tree.array(name)
                return None if values is None else in_degrees(values, tree.attribute(name, "units"), name)
    return None


def _pixel(tree: Hdf5Tree, detector: str) -> tuple[float | None, tuple[str, ...]]:
    """The width of a pixel in micrometres, and what is to be said where its height is another."""
    width, text = _length(tree, f"{detector}/x_pixel_size")
    height, _ = _length(tree, f"{detector}/y_pixel_size")
    if width and height and abs(width - height) > _SAME_SIZE * width:
        sentence = (
            f"Pixels are {width:g} um wide and {height:g} um high, but voxels are written as cubes of the width: "
            f"the true distance between slices is {height:g} um."
        )
        text = (*text, sentence)
    return width, text


def _length(tree: Hdf5Tree, *names: str) -> tuple[float | None, tuple[str, ...]]:
    """The first length there is, in micrometres; and why one that is there is not used."""
    text = []
    for name in names:
        value, unit = tree.array(name), tree.attribute(name, "units")
        if value is None or not value.size:
            continue
        length = float(value.flat[0]) * METRES.get(short_unit(unit), np.nan) * 1e6
        if 0 < length < np.inf:
            return length, ()
        wrong = f"is {value.flat[0]:g} {unit}" if short_unit(unit) in METRES else f"has the unit {unit!r}"
        wrong = wrong if unit.strip() else "has no unit"
        text.append(f"{name} {wrong} and is not used: set the pixel size in micrometres with --pixel-size.")
    return None, tuple(text)
