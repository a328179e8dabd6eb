"""One volume by one method: trained or coded, decoded and measured.

Here: Place, where files are; coded, trained, measured, with_image.
Not here: which jobs there are (neural_jobs), processes and tables (neural).
"""

import shutil
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pellucid
from benchmarks.neural_codecs import write_decoded
from benchmarks.neural_entries import AMGSRN, OURS, Entry
from benchmarks.neural_images import image_quality
from benchmarks.neural_jobs import MEDIUM, MODELS, Job
from benchmarks.neural_published import Published, write_published
from benchmarks.neural_volumes import write_volume
from pellucid.box import Box
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.neural.quality import measure
from pellucid.volume.volume import open_volume

DECODER = 32 * 64 + 64 * 64 + 64
"""Parameters of the decoder of a published model, about."""
MAX_MODEL_S = 240.0
"""fV-SRN and NGP are trained for so long if they have not made all their steps."""
MAX_DRAWN_BYTES = 2**31


@dataclass(frozen=True)
class Place:
    """folder: of volumes and of what is decoded. kept: of fields that are drawn later, if they are not drawn at once.
    steps: of every training in a quick run."""

    folder: Path
    kept: Path | None
    is_quick: bool
    draws: bool = True

    def volume(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def decoded(self, job: Job) -> Path:
        return self.folder / f"{file_name(job)}.npy"

    def field(self, job: Job) -> Path | None:
        return self.kept / f"{file_name(job)}.plf" if self.kept else None

    @property
    def steps(self) -> int | None:
        return 60 if self.is_quick else None


def file_name(job: Job) -> str:
    return f"{job.volume}-{job.method.partition(',')[0]}-{job.target}"


def coded(job: Job, place: Place) -> tuple[int, float]:
    """A classic codec; returns bytes and seconds."""
    start = time.monotonic()
    count = write_decoded(job.method, place.volume(job.volume), job.target, place.decoded(job))
    return count, time.monotonic() - start


def trained(job: Job, place: Place) -> Entry:
    """A field or a published network, trained and measured."""
    source, entry = place.volume(job.volume), Entry(job.volume, job.target, job.method)
    if job.method == OURS:
        path = place.decoded(job).with_suffix(".plf")
        made = compress(source, path, CompressionOptions(size=job.target, steps=place.steps))
        found = made.quality
        entry = replace(entry, nbytes=made.file_bytes, psnr=min(found.psnr, 999.0), ssim=found.ssim)
        entry = replace(entry, max_error=found.max_error, seconds=made.training.seconds, steps=made.training.steps)
        if kept := place.field(job):
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, kept)
        return _drawn(entry, source, path, place)
    is_fused = job.method == AMGSRN
    limit = float("inf") if is_fused or place.is_quick else MAX_MODEL_S
    wanted = Published(MODELS[job.method], features_of(job.target), place.steps, limit)
    training, parameters = write_published(source, wanted, place.decoded(job))
    entry = measured(job, place, 4 * parameters, training.seconds)
    return replace(entry, steps=training.steps)


def features_of(target: int) -> int:
    """Features of a published model of so many bytes: beside its decoder, but for the medium size, which has a name."""
    return target // 4 if target == 4 * MEDIUM else max(target // 4 - DECODER, 256)


def measured(job: Job, place: Place, nbytes: int, seconds: float) -> Entry:
    """The quality of decoded voxels, which are removed."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    decoded = np.load(place.decoded(job), mmap_mode="r")
    with open_volume(place.volume(job.volume)) as volume:
        found = measure(volume, partial(_part, decoded), device)
    entry = Entry(
        job.volume, job.target, job.method, nbytes, min(found.psnr, 999.0), found.ssim, found.max_error,
        seconds=seconds,
    )  # fmt: skip
    del decoded
    return _drawn(entry, place.volume(job.volume), place.decoded(job), place)


def redrawn(entry: Entry, job: Job, place: Place) -> Entry:
    """An entry with the quality of an image of its field, which was kept."""
    source, field = place.volume(job.volume), place.field(job)
    if not source.exists():
        write_volume(job.volume, source)
    pellucid.convert(str(field), str(place.decoded(job)))
    return _drawn(entry, source, place.decoded(job), place)


def _drawn(entry: Entry, source: Path, decoded: Path, place: Place) -> Entry:
    """Volumes of 1024³ are not drawn."""
    if place.draws and source.stat().st_size < MAX_DRAWN_BYTES:
        psnr, ssim = image_quality(source, decoded, 128 if place.is_quick else 1024)
        entry = replace(entry, image_psnr=min(psnr, 999.0), image_ssim=ssim)
    decoded.unlink()
    return entry


def _part(array: Any, box: Box) -> Any:
    return array[box.slices]
