"""Locations of volumes: ``path``, ``path:/dataset``, ``path:t=3,c=0``, ``s3://bucket/key``, and combinations.

Here: Location, parsed from and printed as one string, so that a task can name its input by it.
Not here: what is at that place (registry).
"""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from pellucid.errors import InvalidInput

OPTIONS = ("t", "c", "level", "shape", "dtype", "order", "offset", "spacing", "unit", "format")
REMOTE_SCHEMES = ("s3",)
CONTAINERS = (".zarr", ".n5")
"""Folders with arrays below them: what is below is not what users call it."""
ENDING = re.compile(r"(?<=.)(\.(ome|nii|tar))?\.[a-z][a-z0-9]{0,9}$", re.IGNORECASE)


@dataclass(frozen=True)
class Location:
    """Where a volume is.

    path: a local path or an ``s3://`` URL. dataset: name inside a container, with its leading slash.
    options: what the file cannot say itself, as (name, text) pairs: time and channel, the level, shape and type of
    headerless data, the format's name.

    >>> Location.parse("scan.h5:/entry/data:t=3")
    Location(path='scan.h5', dataset='/entry/data', options=(('t', '3'),))
    >>> str(Location.parse("scan.h5:/entry/data:t=3"))
    'scan.h5:/entry/data:t=3'
    """

    path: str
    dataset: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: "str | Path | Location") -> "Location":
        if isinstance(text, Location):
            return text
        path, options = _split_options(str(text))
        path, dataset = (path, "") if _exists(path) else _split_dataset(path)
        if not path:
            raise InvalidInput(f"{str(text)!r} is not a valid path.", remedy="Use a path or an s3:// address.")
        return cls(path, dataset, options)

    def option(self, name: str) -> str | None:
        return dict(self.options).get(name)

    def number(self, name: str) -> int | None:
        text = self.option(name)
        if text is None:
            return None
        if not text.isdecimal():
            raise InvalidInput(
                f"Invalid {name}={text}: it must be a whole number.", remedy=f"Write {name}=0, {name}=1 and so on."
            )
        return int(text)

    def with_options(self, **options: str | int | None) -> "Location":
        """The same place with options set; None removes one."""
        merged = {**dict(self.options), **options}
        return replace(self, options=tuple((k, str(v)) for k, v in merged.items() if v is not None))

    @property
    def is_remote(self) -> bool:
        return urlsplit(self.path).scheme in REMOTE_SCHEMES

    @property
    def is_memory(self) -> bool:
        """Whether it is an array of this process."""
        return self.path.startswith("memory:")

    @property
    def local(self) -> Path:
        """The path as a local one."""
        return Path(self.path).expanduser()

    @property
    def name(self) -> str:
        """What a user calls it: the name of the file or folder without its ending, whatever is meant inside it.

        >>> [Location.parse(text).name for text in ("/data/scan.h5:/entry/data:t=3", "s3://bucket/rock.ome.zarr/0")]
        ['scan', 'rock']
        >>> [Location.parse(text).name for text in ("/data/bone_0.5mm/", "head.nii.gz", "/data/.hidden", "memory:1f")]
        ['bone_0.5mm', 'head', '.hidden', 'array']
        """
        if self.is_memory:
            return "array"
        parts = [part for part in self.path.split("/") if part] or [self.path]
        container = next((part for part in reversed(parts) if part.lower().endswith(CONTAINERS)), parts[-1])
        return ENDING.sub("", container)

    @property
    def absolute(self) -> "Location":
        """The same place, named so that a process with another working folder finds it too."""
        if self.is_remote or self.is_memory:
            return self
        slash = "/" if self.path.endswith("/") else ""  # asks for a folder of slices where it is an output
        return replace(self, path=f"{self.local.absolute()}{slash}")

    def __str__(self) -> str:
        parts = [self.path, self.dataset, ",".join(f"{k}={v}" for k, v in self.options)]
        return ":".join(part for part in parts if part)


def _exists(text: str) -> bool:
    """Whether there is a file of that very name: it may have colons in it."""
    if ":" not in text or "://" in text:
        return False
    try:
        return os.path.lexists(os.path.expanduser(text))  # noqa: PTH111
    except ValueError:  # A zero byte.
        return False


def _split_options(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Take a trailing ``:name=value,...`` off; a piece without known names stays part of the path."""
    if _exists(text):
        return text, ()
    head, colon, tail = text.rpartition(":")
    pairs = _pairs(tail) if colon else None
    return (head, pairs) if pairs else (text, ())


def _pairs(text: str) -> tuple[tuple[str, str], ...] | None:
    # Values may hold commas (shape=3,4,5): a piece without "=" belongs to the value before it.
    pairs: list[tuple[str, str]] = []
    for piece in text.split(","):
        name, equals, value = piece.partition("=")
        if equals and name in OPTIONS:
            pairs.append((name, value))
        elif pairs and not equals:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{piece}")
        else:
            return None
    return tuple(pairs)


def _split_dataset(text: str) -> tuple[str, str]:
    head, colon, tail = text.rpartition(":/")
    if not colon or tail.startswith("/"):  # "s3://bucket" is an address, not a dataset
        return text, ""
    return head, f"/{tail}"
