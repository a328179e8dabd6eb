"""Guessing which datasets of an HDF5 file, or which files of a folder, are the parts of a scan.

Here: may_be_scan, and suggest(): what there is to choose from, and what is probably what.
Not here: files that follow a convention (hdf5, tiff_folders), what a user says (assembly).

Names are judged by their words, shapes by what fits: flats and darks are as large as projections, and there are at
least as many angles.
"""

from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.location import Location
from pellucid.formats.registry import recognise
from pellucid.tomo.scan_files.assembly import SEPARATOR, ScanOptions
from pellucid.tomo.scan_files.frame_names import When, when_of
from pellucid.tomo.scan_files.registry import is_scan
from pellucid.volume.volume import open_volume

FLAT_WORDS = ("flat", "white", "bright", "reference", "empty", "open", "i0")
DARK_WORDS = ("dark", "background", "offset", "bias")
MAX_LOGS = 20
"""Text files that are looked into."""

MAX_LOG_BYTES = 4 << 20

ANGLE_WORDS = ("angle", "theta", "rot", "omega", "phi")


@dataclass(frozen=True)
class Dataset:
    """Numbers in a file: its name, from the root on, and its shape. In a folder: a pattern of names of files below it,
    or the path of a file with a list."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Suggestion:
    """is_recognised: the file says itself what is what. frames: what could be projections, flats or darks. lists: what
    could be angles, in the file and in text files beside it. options: what they probably are; empty where nothing
    fits."""

    is_recognised: bool
    frames: tuple[Dataset, ...]
    lists: tuple[Dataset, ...]
    options: ScanOptions


def may_be_scan(location: str | Location) -> bool:
    """Whether something is a file with datasets that a user might name as projections."""
    place = Location.parse(location)
    if place.is_remote or place.is_memory or place.dataset or place.options or not place.local.is_file():
        return False
    try:
        return recognise(place) == "hdf5" and any(len(one.shape) == 3 for one in _datasets(place.local))
    except PellucidError:
        return False


def suggest(location: str | Location) -> Suggestion:
    """For a file in HDF5, a folder of TIFF files, or HiPic, of which nothing but the angles can be chosen."""
    place = Location.parse(location)
    if place.local.is_dir():
        return _in_folder(place.local)
    kind, logs = recognise(place), _logs(place.local.parent, place.local.parent)
    if kind == "hipic":
        return Suggestion(is_scan(place), (), logs, ScanOptions())
    if kind != "hdf5":
        raise InvalidInput(
            f"{place} has no datasets to choose from.", remedy="Choose a file in HDF5 or a folder of TIFF files."
        )
    found = [one for one in _datasets(place.local) if 0 not in one.shape]
    frames = tuple(one for one in found if len(one.shape) == 3)
    lists = tuple(one for one in found if len(one.shape) == 1 and one.shape[0] > 1)
    return Suggestion(is_scan(place), frames, (*lists, *logs), _options(frames, lists))


def _in_folder(folder: Path) -> Suggestion:
    """Files of one kind of name count as one dataset."""
    from pellucid.tomo.scan_files.tiff_folders import kinds_of_files

    kinds = kinds_of_files(folder)
    flats, darks = (
        _before_and_after([(pattern, name.when) for pattern, _, name in kinds if name.kind == what])
        for what in ("flats", "darks")
    )
    others = [(count, pattern) for pattern, count, name in kinds if name.kind in ("projections", "")]
    options = ScanOptions(max(others)[1] if others else "", flats, darks)
    frames = tuple(Dataset(pattern, (count, *_frame_shape(folder, pattern))) for pattern, count, _ in kinds)
    inside = folder / options.projections.rpartition("/")[0]
    return Suggestion(is_scan(str(folder)), frames, _logs(folder, inside), options)


def _frame_shape(folder: Path, pattern: str) -> tuple[int, ...]:
    """Rows and columns; nothing of files that cannot be read."""
    inside, _, name = pattern.rpartition("/")
    try:
        with open_volume(f"{folder / inside}:/{name}") as volume:
            return volume.shape[1:]
    except PellucidError:
        return ()


def _logs(folder: Path, inside: Path) -> tuple[Dataset, ...]:
    """Text files with a list of angles, in a folder and in that of the projections."""
    from pellucid.tomo.scan_files.angle_files import SUFFIXES
    from pellucid.tomo.scan_files.angles import angles_from_file

    found = []
    places = dict.fromkeys((folder, inside))
    files = [path for place in places for path in sorted(place.iterdir()) if path.suffix.lower() in SUFFIXES]
    for path in files[:MAX_LOGS]:
        try:
            is_small = path.is_file() and path.stat().st_size <= MAX_LOG_BYTES
            count = len(angles_from_file(path).angles_deg) if is_small else 0
        except (PellucidError, OSError, ValueError):
            continue
        found += [Dataset(str(path), (count,))] if count > 1 else []
    return tuple(found)


def _datasets(path: Path) -> list[Dataset]:
    from pellucid.formats.hdf5.tree import Hdf5Tree  # A viewer that shows no scan starts sooner.

    with Hdf5Tree(path) as tree:
        return [Dataset(name, shape) for name, shape in tree.datasets()]


def _options(frames: tuple[Dataset, ...], lists: tuple[Dataset, ...]) -> ScanOptions:
    others = [one for one in frames if not _is_called(one, (*FLAT_WORDS, *DARK_WORDS))]
    if not others:
        return ScanOptions()
    projections = max(others, key=lambda one: one.shape[0])
    alike = [one for one in frames if one is not projections and one.shape[1:] == projections.shape[1:]]
    return ScanOptions(
        projections.name,
        _in_time([one.name for one in alike if _is_called(one, FLAT_WORDS)]),
        _in_time([one.name for one in alike if _is_called(one, DARK_WORDS)]),
        _angles(projections.shape[0], lists),
    )


def _in_time(names: list[str]) -> str:
    """Those before and after the projections where names say so; else the first.

    >>> _in_time(["/flats_after", "/flats_before"]), _in_time(["/flat_a", "/flat_b"])
    ('/flats_before;/flats_after', '/flat_a')
    """
    return _before_and_after([(name, when_of(name.rpartition("/")[2])) for name in names])


def _before_and_after(names: list[tuple[str, When]]) -> str:
    timed = {when: name for name, when in reversed(names) if when}
    return (
        SEPARATOR.join((timed["before"], timed["after"])) if len(timed) == 2 else next((name for name, _ in names), "")
    )


def _angles(count: int, lists: tuple[Dataset, ...]) -> str:
    """The list that is called so, or the only one that is as long."""
    named = [one for one in lists if one.shape[0] >= count and _is_called(one, ANGLE_WORDS)]
    fitting = [one for one in lists if one.shape[0] == count]
    chosen = min(named, key=lambda one: one.shape[0]) if named else fitting[0] if len(fitting) == 1 else None
    return chosen.name if chosen else ""


def _is_called(one: Dataset, words: tuple[str, ...]) -> bool:
    """By its own name; those of the groups around it count for all of their datasets."""
    return any(word in one.name.rpartition("/")[2].lower() for word in words)
