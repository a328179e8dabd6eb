"""Guessing which datasets of an HDF5 file are the parts of a scan.

Here: may_be_scan, and suggest(): what there is to choose from, and what is probably what.
Not here: files that follow a convention (hdf5), what a user says (assembly).

Names are judged by their words, shapes by what fits: flats and darks are as large as projections, and there are at
least as many angles.
"""

from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.location import Location
from pellucid.formats.registry import recognise
from pellucid.tomo.scan_files.assembly import SEPARATOR, ScanOptions
from pellucid.tomo.scan_files.frame_names import when_of
from pellucid.tomo.scan_files.registry import is_scan

FLAT_WORDS = ("flat", "white", "bright", "reference", "empty", "open", "i0")
DARK_WORDS = ("dark", "background", "offset", "bias")
ANGLE_WORDS = ("angle", "theta", "rot", "omega", "phi")


@dataclass(frozen=True)
class Dataset:
    """Numbers in a file: its name, from the root on, and its shape."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Suggestion:
    """is_recognised: the file says itself what is what. frames: what could be projections, flats or darks. lists: what
    could be angles. options: what they probably are; empty where nothing fits."""

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
    """For a file in HDF5."""
    place = Location.parse(location)
    if recognise(place) != "hdf5":
        raise InvalidInput(f"{place} has no datasets to choose from.", remedy="Choose a file in HDF5.")
    found = [one for one in _datasets(place.local) if 0 not in one.shape]
    frames = tuple(one for one in found if len(one.shape) == 3)
    lists = tuple(one for one in found if len(one.shape) == 1 and one.shape[0] > 1)
    return Suggestion(is_scan(place), frames, lists, _options(frames, lists))


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
    timed = {when: name for name in reversed(names) if (when := when_of(name.rpartition("/")[2]))}
    return SEPARATOR.join((timed["before"], timed["after"])) if len(timed) == 2 else next(iter(names), "")


def _angles(count: int, lists: tuple[Dataset, ...]) -> str:
    """The list that is called so, or the only one that is as long."""
    named = [one for one in lists if one.shape[0] >= count and _is_called(one, ANGLE_WORDS)]
    fitting = [one for one in lists if one.shape[0] == count]
    chosen = min(named, key=lambda one: one.shape[0]) if named else fitting[0] if len(fitting) == 1 else None
    return chosen.name if chosen else ""


def _is_called(one: Dataset, words: tuple[str, ...]) -> bool:
    """By its own name; those of the groups around it count for all of their datasets."""
    return any(word in one.name.rpartition("/")[2].lower() for word in words)
