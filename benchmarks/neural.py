"""How good is a neural field of a given size, and how do published networks and classic codecs do at the same size?

    python -m benchmarks.neural [--quick] [--json FILE] [--part NAME ...] [--sizes BYTES ...] [--only KIND]
                                [--no-images] [--parts FOLDER] [--until SECONDS]

Quality over all voxels, and of a rendering, at equal bytes: our default model, rounded and coded, beside AMGSRN as
published (float32 parameters), SZ3, ZFP, SPERR and the volume subsampled; and fV-SRN and NGP beside AMGSRN of the
medium size. Real scans are taken from ../shared/data, or from the folder TEST_DATA_FOLDER; those that are absent are
left out by name. Every result is kept in FOLDER/neural.json as soon as it is there: another run leaves it out.

--part: scans, 256, 512, 1024 (analytic fields of that side), models (fV-SRN and NGP), or table, which only writes
tables and curves. --only: trainings, codecs, or images, of those fields in FOLDER/fields that were not drawn when they
were trained (--no-images). They may run at the same time, or on several machines; --part table ends them.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from benchmarks.entry_points import with_entry_points
from benchmarks.neural_codecs import NAMES
from benchmarks.neural_curves import draw_curves
from benchmarks.neural_entries import AMGSRN, FVSRN, NGP, OURS, Entries, Entry
from benchmarks.neural_jobs import PARTS, SIZES, Job, jobs_of
from benchmarks.neural_measuring import Place, coded, measured, redrawn, trained
from benchmarks.neural_volumes import SCANS, is_there, write_volume
from benchmarks.table import RESULTS, Options, Row, heading, report, unavailable


def main() -> None:
    given = _arguments()
    chosen = Options(given.quick, given.json)
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        kept = given.parts or Path(folder)
        entries = Entries(kept, "quick-neural" if given.quick else "neural", _own_name(given))
        place = Place(Path(folder), kept / "fields", given.quick, draws=given.images)
        with_entry_points(Path(folder) / "site")
        jobs = jobs_of(given.part, given.sizes, is_quick=given.quick)
        if given.only == "images":
            draw_kept(jobs, entries, place, time.monotonic() + given.until)
        elif given.part != ["table"]:
            run(_missing(jobs, entries, given.only), entries, place, given)
        if given.only is None:
            write_results(list(entries), chosen)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Neural fields beside classic codecs.")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, under 60 s on 2 cores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--part", nargs="+", choices=("all", *PARTS, "table"), default=["all"])
    parser.add_argument("--sizes", nargs="+", type=int, metavar="BYTES", default=SIZES)
    parser.add_argument("--only", choices=("trainings", "codecs", "images"))
    parser.add_argument("--no-images", dest="images", action="store_false", help="leave renderings for --only images")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where results are kept (default: nowhere)")
    parser.add_argument("--until", type=float, default=float("inf"), metavar="SECONDS", help="start nothing later")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="where volumes are written")
    parser.add_argument("--trainings", type=int, metavar="N", help="at the same time (default: 3 on a GPU)")
    parser.add_argument("--codecs", type=int, metavar="N", help="at the same time (default: 8 with a GPU)")
    return parser.parse_args()


def _own_name(given: argparse.Namespace) -> str:
    """What the file of a run with a part of all results has in its name: runs at the same time have one each."""
    sizes = given.sizes if given.sizes != SIZES else ()
    return f"-{given.only}" + "".join(f"-{one}" for one in (*given.part, *sizes)) if given.only else ""


def _missing(jobs: Sequence[Job], entries: Entries, only: str | None) -> list[Job]:
    wanted = [job for job in jobs if entries.get(job.volume, job.target, job.method) is None]
    return [job for job in wanted if only is None or job.is_codec == (only == "codecs")]


def draw_kept(jobs: Sequence[Job], entries: Entries, place: Place, deadline: float) -> None:
    """Images of the fields that were kept."""
    for job in jobs:
        entry, field = entries.get(job.volume, job.target, job.method), place.field(job)
        if entry and entry.image_psnr is None and field and field.exists() and time.monotonic() < deadline:
            entries.add(redrawn(entry, job, place))
            print(f"{job.volume}, {job.target:,} bytes: drawn", flush=True)


# Measuring


def run(jobs: Sequence[Job], entries: Entries, place: Place, given: argparse.Namespace) -> None:
    """Trainings and codecs in processes of their own; what codecs decode is measured where trainings are."""
    start, has_gpu = time.monotonic(), torch.cuda.is_available()
    for name in {job.volume for job in jobs} - {job.volume for job in jobs if is_there(job.volume)}:
        print(f"{name} is absent", flush=True)
    jobs = [job for job in jobs if is_there(job.volume)]
    if not jobs:
        return
    context = get_context("spawn")
    trainings, codecs = given.trainings or (3 if has_gpu else 1), given.codecs or (8 if has_gpu else 1)
    with (
        ProcessPoolExecutor(trainings, mp_context=context) as trainers,
        ProcessPoolExecutor(codecs, mp_context=context) as coders,
    ):
        for name, made in {
            name: coders.submit(write_volume, name, place.volume(name)) for name in _names(jobs)
        }.items():
            made.result()
            print(f"{time.monotonic() - start:.0f} s: {name} is there", flush=True)
        line = _Line(entries, place, trainers, coders)
        line.wait_for([job for job in jobs if job.is_codec], [job for job in jobs if not job.is_codec],
                      (trainings, codecs), start + given.until)  # fmt: skip


def _names(jobs: Sequence[Job]) -> list[str]:
    return list(dict.fromkeys(job.volume for job in jobs))


class _Line:
    """What runs where: codecs on the CPU, trainings and measurements in the other processes."""

    def __init__(
        self, entries: Entries, place: Place, trainers: ProcessPoolExecutor, coders: ProcessPoolExecutor
    ) -> None:
        self._entries, self._place, self._trainers, self._coders = entries, place, trainers, coders
        self._start = time.monotonic()

    def wait_for(self, codecs: list[Job], trainings: list[Job], slots: tuple[int, int], deadline: float) -> None:
        """All of them, or those that begin before the deadline; what is decoded is measured first."""
        decoded: list[tuple[Job, int, float]] = []
        coding: dict[Future[Any], Job] = {}
        working: dict[Future[Any], Job] = {}
        while True:
            while codecs and len(coding) < slots[1] and time.monotonic() < deadline:
                job = codecs.pop(0)
                coding[self._coders.submit(coded, job, self._place)] = job
            while (decoded or (trainings and time.monotonic() < deadline)) and len(working) < slots[0]:
                work: Callable[[], Entry]
                if decoded:
                    job, count, seconds = decoded.pop(0)
                    work = partial(measured, job, self._place, count, seconds)
                else:
                    job = trainings.pop(0)
                    work = partial(trained, job, self._place)
                working[self._trainers.submit(work)] = job
            if not coding and not working:
                return
            for future in wait([*coding, *working], return_when=FIRST_COMPLETED).done:
                if future in working:
                    self._keep(working.pop(future), future)
                elif (job := coding.pop(future)) and (found := self._keep(job, future)):
                    decoded.append((job, *found))

    def _keep(self, job: Job, future: Future[Any]) -> Any:
        """The result of a codec; that of a measurement is kept."""
        if isinstance(error := future.exception(), (ImportError, ValueError)):
            result: Any = Entry(job.volume, job.target, job.method, missing=str(error)[:60])
        elif error:
            print(f"{job}: {error!r}", flush=True)
            return None
        else:
            result = future.result()
        if isinstance(result, Entry):
            self._entries.add(result)
            text = result.missing or f"{result.psnr:.2f} dB, {result.nbytes:,} bytes"
            print(f"{time.monotonic() - self._start:.0f} s: {job.volume}, {job.method}: {text}", flush=True)
            return None
        return result


# Tables


def write_results(entries: Sequence[Entry], given: Options) -> None:
    rows = table_rows(entries) or [unavailable("all", "ours", "nothing has run")]
    size = f"analytic volumes and {len(SCANS)} scans, fields of {', '.join(f'{size:,}' for size in SIZES)} bytes"
    report("neural", rows, "small volumes" if given.is_quick else size, given)
    if not given.is_quick:
        lines = [f"# neural, quality\n\n{heading(size)}\n", *quality_lines(entries)]
        is_cuda = "-cuda" if torch.cuda.is_available() else ""
        (RESULTS / f"neural-quality{is_cuda}.md").write_text("\n".join(lines) + "\n")
        draw_curves(entries, RESULTS / "neural.png")


def table_rows(entries: Sequence[Entry]) -> list[Row]:
    """PSNR beside that of the others at the same bytes; then AMGSRN of the medium size beside other networks."""
    found = {(entry.volume, entry.target, entry.method): entry for entry in entries}
    rows: list[Row] = []
    for base, peers in ((OURS, (AMGSRN, *NAMES)), (AMGSRN, (FVSRN, NGP))):
        for (volume, target, method), entry in found.items():
            others = [found[volume, target, peer] for peer in peers if (volume, target, peer) in found]
            if method == base and entry.psnr is not None:
                case = f"{volume}, {target / 1000:,.0f} kB" + ("" if base == OURS else ", AMGSRN")
                rows += [_row(case, entry.psnr, other) for other in others]
    return sorted(rows, key=lambda row: (row.case.endswith("AMGSRN"), row.case))


def _row(case: str, psnr: float, other: Entry) -> Row:
    if other.psnr is None:
        return unavailable(case, other.method, other.missing)
    return Row(case, "PSNR", "dB", psnr, other.method, other.psnr, psnr / other.psnr)


def quality_lines(entries: Sequence[Entry]) -> list[str]:
    """Everything that was measured, as a table."""
    names = ("volume", "method", "bytes", "PSNR, dB", "SSIM", "largest error", "image PSNR, dB", "image SSIM", "s",
             "steps")  # fmt: skip
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for entry in sorted(entries, key=lambda one: (one.volume, one.target, one.method != OURS, one.method)):
        if entry.psnr is not None:
            numbers = (entry.psnr, entry.ssim, entry.max_error, entry.image_psnr, entry.image_ssim, entry.seconds)
            texts = ["-" if number is None else f"{number:.4g}" for number in numbers]
            steps = f"{entry.steps:,}" if entry.steps else "-"
            lines.append("| " + " | ".join([entry.volume, entry.method, f"{entry.nbytes:,}", *texts, steps]) + " |")
    return lines


if __name__ == "__main__":
    main()
