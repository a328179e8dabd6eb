"""What the names of files and folders say about frames: projections, flats or darks, before or after the scan.

Here: FrameName, read from a path by the words in it; when_of a name.
Not here: which files there are (tiff_folders), datasets in HDF5 (dataset_guess).

Words are separated by punctuation, digits and capitals: Flat_Before, flat-before and FlatBefore are the same.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import Literal

Kind = Literal["projections", "flats", "darks", "opposite", ""]
When = Literal["before", "after", ""]

DARK = {"dark", "darks", "darkfield", "darkfields", "darkcurrent", "darkimage", "darkimages", "df", "dc", "bias"}
FLAT = {
    *("flat", "flats", "flatfield", "flatfields", "white", "whites", "whitefield", "bright", "brights", "brightfield"),
    *("ref", "refs", "reference", "references", "ff", "ob", "openbeam", "empty", "blank", "blanks", "i0"),
}  # fmt: skip
PROJECTION = {
    *("tomo", "tomos", "tomography", "tomogram", "proj", "projs", "projection", "projections", "raw", "radio"),
    *("radios", "radiograph", "radiographs", "sample", "scan", "grtomo"),
}  # fmt: skip
BEFORE = {"before", "pre", "start", "begin", "beginning", "initial"}
AFTER = {"after", "post", "end", "final"}
_PAIRS = {"openbeam", "flatfield", "darkfield", "whitefield", "brightfield", "darkcurrent", "darkimage"}
_WORD = re.compile(r"[Ii]0(?![0-9])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OPPOSITE = re.compile(r"(^|[^0-9])180[ _-]?deg(rees?)?s?([^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class FrameName:
    """kind: what the frames are, empty where the name does not say; opposite: one view at 180 degrees, to check the
    alignment. when: flats and darks before or after the projections, empty where the name does not say."""

    kind: Kind = ""
    when: When = ""


def words_of(name: str) -> list[str]:
    """The words of a name in lower case; two that belong together are one as well.

    >>> words_of("IMAT_OpenBeam-before_001")
    ['imat', 'open', 'beam', 'before', '001', 'openbeam']
    """
    words = [word.lower() for word in _WORD.findall(name)]
    pairs = [a + b for a, b in pairwise(words) if a + b in _PAIRS]
    return words + pairs


def read_name(path: str) -> FrameName:
    """What a path below the folder of a scan says: by the folder that a file is in, or else by its own name.

    >>> read_name("Flat_After/ref_0001.tif"), read_name("sample_dark_001.tif")
    (FrameName(kind='flats', when='after'), FrameName(kind='darks', when=''))
    """
    place = PurePath(path)
    for name in (*(part for part in reversed(place.parts[:-1])), place.stem):
        kind = _kind(name)
        if kind:
            return FrameName(kind, when_of(name) or when_of(place.stem))
    return FrameName()


def _kind(name: str) -> Kind:
    words = set(words_of(name))
    if words & DARK:
        return "darks"
    if words & FLAT:
        return "flats"
    if _OPPOSITE.search(name):
        return "opposite"
    return "projections" if words & PROJECTION else ""


def when_of(name: str) -> When:
    """Whether a name says before or after.

    >>> when_of("flats_post.h5"), when_of("flats.h5")
    ('after', '')
    """
    words = set(words_of(name))
    return "before" if words & BEFORE else "after" if words & AFTER else ""
