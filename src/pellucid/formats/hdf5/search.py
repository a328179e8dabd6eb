"""Finding a file that an HDF5 file refers to.

Here: the places that the HDF5 library looks in, in its order.
Not here: what names it (links, references), whether it may be read (local_files).
"""

import os
from collections.abc import Iterator
from pathlib import Path


def find_file(owner: Path, name: str, variable: str = "") -> Path:
    """The first file there is of those that a name may mean; where there is none, the one beside its owner."""
    beside = owner.parent / Path(name).name if Path(name).is_absolute() else owner.parent / name
    return next(existing_candidates(owner, name, variable), beside)


def existing_candidates(owner: Path, name: str, variable: str = "") -> Iterator[Path]:
    """The files that a name may mean: as it is if absolute, below the variable's folders, beside its owner, here."""
    seen = set()
    for candidate in _candidates(owner, name, variable):
        if candidate not in seen and _exists(candidate):
            seen.add(candidate)
            yield candidate


def _candidates(owner: Path, name: str, variable: str) -> Iterator[Path]:
    if Path(name).is_absolute():
        yield Path(name)
    inside = Path(name).name if Path(name).is_absolute() else name
    for prefix in filter(None, os.environ.get(variable, "").split(":") if variable else ()):
        yield Path(prefix.replace("${ORIGIN}", str(owner.parent))) / inside
    yield owner.parent / inside
    yield Path(inside)
    yield Path(os.path.realpath(owner)).parent / inside


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # A zero byte in the name.
        return False
