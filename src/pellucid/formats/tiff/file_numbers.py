"""Numbers in the names of slices.

Here: the order that users mean, and which numbers of a series are not there.
Not here: which files are slices (folder).
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise


def natural_key(name: str) -> list[tuple[int, str]]:
    """Sorts numbers in names by their value.

    >>> sorted(["slice_10.tif", "slice_9.tif"], key=natural_key)
    ['slice_9.tif', 'slice_10.tif']
    """
    return [(int(part), part) if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def missing_numbers(names: Iterable[str]) -> Iterator[int]:
    """The numbers between the first and the last that no name has, where one number counts and all else is the same.

    The smallest step is the series' own: every tenth slice, kept on purpose, is complete.

    >>> list(missing_numbers(["s_0.tif", "s_1.tif", "s_4.tif"]))
    [2, 3]
    >>> list(missing_numbers(["s_10.tif", "s_20.tif", "s_30.tif"]))
    []
    """
    numbers = series_numbers(names)
    step = min((b - a for a, b in pairwise(numbers)), default=1)
    return chain.from_iterable(range(a + step, b, step) for a, b in pairwise(numbers))


def series_numbers(names: Iterable[str]) -> list[int]:
    """The number by which the names differ, of every name, sorted; nothing where another part differs too."""
    split = [re.split(r"(\d+)", name) for name in names]
    if len({len(parts) for parts in split}) != 1:
        return []
    varying = [column for column in zip(*split, strict=True) if len(set(column)) > 1]
    if len(varying) != 1 or not all(part.isdecimal() for part in varying[0]):
        return []
    return sorted({int(part) for part in varying[0]})
