"""Which volumes are compressed to how many bytes, by what, and in which order.

Here: Job, jobs_of.
Not here: how a job is done (neural_measuring), the processes that do them (neural).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from benchmarks.neural_codecs import NAMES
from benchmarks.neural_entries import AMGSRN, FVSRN, NGP, OURS
from benchmarks.neural_volumes import SCANS

MEDIUM = 1 << 20
SIZES = (131_072, 4 * MEDIUM, 1_000_000, 32_768)
"""Bytes of files, in the order in which they are measured; the second are those of the medium size in float32."""
LARGE, LARGE_SIZES = "1024", (131_072, 1_000_000)
QUICK = 16_384
MODELS = {AMGSRN: "amgsrn", FVSRN: "fvsrn", NGP: "ngp"}
FIELDS = {part: (f"smooth{part}", f"turbulent{part}") for part in ("512", "256", LARGE)}
PARTS = ("scans", *FIELDS, "models")


@dataclass(frozen=True)
class Job:
    volume: str
    method: str
    target: int

    @property
    def is_codec(self) -> bool:
        return self.method in NAMES


def jobs_of(parts: Sequence[str], sizes: Sequence[int], *, is_quick: bool) -> list[Job]:
    """Size by size, so that what was asked for first is there first. parts: "all", or some of PARTS."""
    if is_quick:
        return [Job(*one, QUICK) for one in product(("smooth32", "turbulent32"), (OURS, *MODELS, *NAMES))]
    chosen = PARTS if "all" in parts else parts
    jobs = [job for size in sizes for part in chosen for job in _of_size(part, size)]
    return jobs + ([Job(*one, 4 * MEDIUM) for one in _models()] if "models" in chosen else [])


def _of_size(part: str, size: int) -> list[Job]:
    names = tuple(SCANS) if part == "scans" else FIELDS.get(part, ())
    methods: tuple[str, ...] = (
        "SPERR",
        "SZ3",
        "ZFP",
        OURS,
        "subsampled",
        AMGSRN,
    )  # Codecs that take longest come first.
    if part == LARGE and size not in LARGE_SIZES:
        methods = (AMGSRN,) if size == 4 * MEDIUM else ()
    return [Job(name, method, size) for method, name in product(methods, names)]


def _models() -> list[tuple[str, str]]:
    return list(product((*SCANS, *FIELDS["512"]), (NGP, FVSRN)))
