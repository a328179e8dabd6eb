"""What was measured of neural fields and classic codecs, kept so that a run continues where another one ended.

Here: Entry, and Entries in a file.
Not here: measuring (neural), the plot (neural_curves).
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

OURS, AMGSRN, FVSRN, NGP = "ours", "AMGSRN, float32", "fV-SRN, float32", "NGP, float32"


@dataclass(frozen=True)
class Entry:
    """One volume from one number of bytes by one method. target: bytes that were asked for. image_psnr, image_ssim: of
    a rendering, where it was made. steps: of the training. missing: why nothing could be measured."""

    volume: str
    target: int
    method: str
    nbytes: int = 0
    psnr: float | None = None
    ssim: float | None = None
    max_error: float | None = None
    image_psnr: float | None = None
    image_ssim: float | None = None
    seconds: float | None = None
    steps: int | None = None
    missing: str = ""


class Entries:
    """A file of entries; each is written as soon as it is there. Files beside it whose names begin alike are read too:
    several runs may write at the same time, each its own."""

    def __init__(self, folder: Path, name: str, own: str = "") -> None:
        self._path = folder / f"{name}{own}.json"
        self._own: dict[tuple[str, int, str], Entry] = {}
        self._found: dict[tuple[str, int, str], Entry] = {}
        for path in (*sorted(folder.glob(f"{name}-*.json")), folder / f"{name}.json"):
            stored = [Entry(**one) for one in json.loads(path.read_text())] if path.exists() else []
            # What was drawn later has everything that the entry before has.
            self._found |= {_key(one): one for one in stored if one.image_psnr or not self._is_drawn(one)}
            if path == self._path:
                self._own = {_key(one): one for one in stored}

    def _is_drawn(self, entry: Entry) -> bool:
        found = self._found.get(_key(entry))
        return found is not None and found.image_psnr is not None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._found.values())

    def get(self, volume: str, target: int, method: str) -> Entry | None:
        return self._found.get((volume, target, method))

    def add(self, entry: Entry) -> None:
        self._own[_key(entry)] = self._found[_key(entry)] = entry
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps([asdict(one) for one in self._own.values()], indent=0) + "\n")
        new.replace(self._path)


def _key(entry: Entry) -> tuple[str, int, str]:
    return entry.volume, entry.target, entry.method
