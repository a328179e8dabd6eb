"""How much noise does ``pellucid denoise`` remove, and how do a Gaussian, a median, total variation and BM3D do?

    python -m benchmarks.learn_denoise [--quick] [--columns N] [--json FILE] [--parts FOLDER]
        [--part all|ours|peers|table]

A simulated foam with photon noise, and again with a quarter of the photons; all is measured on slices that are held
out of the training, against the truth. The strength of every other method is the one that gives the best PSNR on
these slices (of BM3D, which takes long: on the middle of one of them; of total variation: on their middle). Parts can
be measured on different machines: each leaves files in the folder of parts, what is there is not measured again, and
the table has all that are there. With --dose, doses can be measured at the same time. --limit ends a training that
takes longer; its network is used as it is then.
"""

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from scipy import ndimage

from benchmarks.entry_points import with_entry_points
from benchmarks.foam_scan import FoamCase, FoamJudge, FoamMeasures
from benchmarks.learn_limit import ending_trainings_in
from benchmarks.table import TARGET, Options, Row, report, unavailable
from pellucid.formats.protocol import Voxels
from pellucid.learn.denoise.options import DenoiseOptions, preset
from pellucid.tomo import Recipe, open_scan, reconstruct_array

FULL = FoamCase(128, 512, 720, 500, 2000.0)
QUICK = FoamCase(48, 96, 144, 60, 400.0)
DOSES = {"full dose": 1.0, "quarter dose": 0.25}
HELD_OUT = 0.1
STRENGTHS: dict[str, Sequence[float]] = {
    "Gaussian": (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5),
    "median": (3, 5, 7),
    "total variation": (0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4),
    "BM3D": (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0, 15.0),
}
"""Of BM3D in standard deviations of the noise, of total variation in contrasts, else in voxels."""
Measured = dict[str, dict[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Denoising a foam, beside other methods.")
    parser.add_argument("--quick", action="store_true", help="a smaller scan")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--part", choices=("all", "ours", "peers", "table"), default="all")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where parts are kept (default: nowhere)")
    parser.add_argument("--dose", choices=[dose.split()[0] for dose in DOSES], help="one of them (default: both)")
    parser.add_argument("--limit", type=float, default=math.inf, metavar="S", help="seconds of our training at most")
    parser.add_argument("--columns", type=int, default=FULL.columns, metavar="N", help="of the detector")
    parser.add_argument("--preset", default="fast", help="of our network")
    parser.add_argument("--steps", type=int, help="of our training")
    given = parser.parse_args()
    case = QUICK if given.quick else narrower(given.columns)
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        parts = given.parts or Path(folder)
        parts.mkdir(parents=True, exist_ok=True)
        if given.part in ("all", "peers"):
            measure(case, parts, "peers", PEERS, given.dose)
        if given.part in ("all", "ours"):
            options = preset(given.preset).with_learning(steps=given.steps)
            if given.quick:
                options = replace(options, width=4, patch=32, slices=8)
                options = options.with_learning(steps=given.steps or 20, epoch_steps=10)
            work = partial(ours, options=options, limit_s=given.limit)
            measure(case, parts, "ours", {f"ours, {given.preset}": work}, given.dose)
        if given.part in ("all", "table"):
            size = f"{case.rows} × {case.columns}², {case.views} views, {case.counts:g} photons"
            report("learn_denoise", table(parts), size, Options(given.quick, given.json))


def narrower(columns: int) -> FoamCase:
    """With as many rows, and views and bubbles for its width."""
    share = columns / FULL.columns
    return FoamCase(FULL.rows, columns, round(FULL.views * share), round(FULL.bubbles * share**2), FULL.counts)


def measure(case: FoamCase, parts: Path, part: str, work: "Mapping[str, Work]", only: str | None = None) -> None:
    """Of every dose, or only of one, into a file."""
    rows = (case.rows - round(HELD_OUT * case.rows), case.rows)
    judge = FoamJudge(case, rows)
    for dose, share in DOSES.items():
        if only not in (None, dose.split()[0]):
            continue
        kept = parts / f"{part}-{dose.split()[0]}.json"
        found: Measured = json.loads(kept.read_text()) if kept.exists() else {}
        with tempfile.TemporaryDirectory() as folder:
            path = FoamCase(**{**asdict(case), "counts": case.counts * share}).write(Path(folder) / "foam.nxs")
            scan = Scan(path, case, rows)
            for name in (name for name in work if name not in found):
                try:
                    found[name] = work[name](scan, judge)
                except ModuleNotFoundError as error:
                    print(f"{name} is not measured: {error.name} is not installed", flush=True)
                    continue
                kept.write_text(json.dumps(found, indent=1) + "\n")
                print(dose, name, json.dumps(found[name]), flush=True)


class Scan:
    """A scan, and the slices of it that are measured."""

    def __init__(self, path: Path, case: FoamCase, rows: tuple[int, int]) -> None:
        self.path, self.case, self.rows = path, case, rows

    @cached_property
    def plain(self) -> Voxels:
        """All slices, as they are without denoising."""
        return reconstruct_array(open_scan(self.path), Recipe(center=self.case.axis, tilt=0.0))


def ours(scan: Scan, judge: FoamJudge, options: DenoiseOptions, limit_s: float = math.inf) -> dict[str, float]:
    from pellucid.formats.location import Location
    from pellucid.learn.denoise.pipeline import denoise
    from pellucid.learn.denoise.request import DenoiseRequest, RunChoices
    from pellucid.volume.volume import open_volume

    target = scan.path.with_name("clean.zarr")
    recipe = Recipe(center=scan.case.axis, tilt=0.0)
    start = time.perf_counter()
    with ending_trainings_in(scan.path.parent, limit_s):
        made = denoise(
            DenoiseRequest(str(scan.path), Location.parse(target), recipe=recipe, options=options),
            RunChoices(threads=min(os.cpu_count() or 1, 8), loaders=min(os.cpu_count() or 1, 6)),
        )
    seconds = time.perf_counter() - start
    with open_volume(target) as volume:
        found = judge.measure(volume.read()[slice(*scan.rows)])
    stages = {f"seconds of {name}": value for name, value in (made.stages or {}).items()}
    steps = made.curve.step if made.curve else 0
    return {**asdict(found), "seconds": seconds, "steps": float(steps), **stages}


def plain(scan: Scan, judge: FoamJudge) -> dict[str, float]:
    return asdict(judge.measure(scan.plain[slice(*scan.rows)]))


def gaussian(scan: Scan, judge: FoamJudge) -> dict[str, float]:
    near = _around(scan, 16)
    return _tuned("Gaussian", judge, lambda sigma: np.asarray(ndimage.gaussian_filter(near, sigma))[16:])


def median(scan: Scan, judge: FoamJudge) -> dict[str, float]:
    near = _around(scan, 8)
    return _tuned("median", judge, lambda size: np.asarray(ndimage.median_filter(near, int(size)))[8:])


def total_variation(scan: Scan, judge: FoamJudge) -> dict[str, float]:
    near, edge = _around(scan, 8), scan.plain.shape[1]
    part = (slice(None), *(slice(edge // 4, 3 * edge // 4),) * 2)
    errors = {
        weight: float(np.square(_total_variation(near[part], weight * judge.contrast)[8:] - judge.truth[part]).mean())
        for weight in STRENGTHS["total variation"]
    }
    best = min(errors, key=errors.__getitem__)
    return {**asdict(judge.measure(_total_variation(near, best * judge.contrast)[8:])), "strength": best}


def bm3d(scan: Scan, judge: FoamJudge) -> dict[str, float]:
    noise = float(np.median(np.abs(np.diff(scan.plain, axis=2))) / 0.6745 / np.sqrt(2))
    slices = scan.plain[slice(*scan.rows)]
    middle, edge = len(slices) // 2, slices.shape[1]
    part = (middle, *(slice(edge // 4, 3 * edge // 4),) * 2)
    best = _best_for_bm3d(slices[part], judge.truth[part], noise)
    return {**asdict(judge.measure(_bm3d(slices, best * noise))), "strength": best}


Work = Callable[[Scan, FoamJudge], dict[str, float]]
PEERS: dict[str, Work] = {
    "plain": plain, "Gaussian": gaussian, "median": median, "total variation": total_variation, "BM3D": bm3d,
}  # fmt: skip
"""The strength of each is tuned with the truth, on the slices that are measured."""


def _tuned(name: str, judge: FoamJudge, apply: Callable[[float], Voxels]) -> dict[str, float]:
    best = max(STRENGTHS[name], key=lambda strength: judge.psnr(apply(strength)))
    return {**asdict(judge.measure(apply(best))), "strength": best}


def _around(scan: Scan, margin: int) -> Voxels:
    """The slices, and some before them; they end with the volume."""
    return scan.plain[scan.rows[0] - margin : scan.rows[1]]


def _total_variation(voxels: Voxels, weight: float) -> Voxels:
    from skimage.restoration import denoise_tv_chambolle

    scale = float(np.abs(voxels).max())
    return np.asarray(denoise_tv_chambolle(voxels / scale, weight=weight / scale, eps=1e-5, max_num_iter=200) * scale)


def _best_for_bm3d(one: Voxels, truth: Voxels, noise: float) -> float:
    """The strength with the least error, of a part of a slice."""
    errors = {n: float(np.square(_bm3d(one[None], n * noise)[0] - truth).mean()) for n in STRENGTHS["BM3D"]}
    print("BM3D, mean squared error of one slice by strength:", errors, flush=True)
    return min(errors, key=errors.__getitem__)


def _bm3d(slices: Voxels, sigma: float) -> Voxels:
    """Slice by slice."""
    import bm3d as package

    return np.stack([np.asarray(package.bm3d(one.astype(np.float64), sigma)) for one in slices]).astype(np.float32)


def table(parts: Path) -> list[Row]:
    rows: list[Row] = []
    for dose in DOSES:
        paths = sorted(parts.glob(f"*-{dose.split()[0]}.json"))
        found: Measured = {}
        for path in paths:
            found |= json.loads(path.read_text())
        for name in [name for name in found if name.startswith("ours")]:
            for peer in ("plain", *STRENGTHS):
                rows += _rows(f"{dose}, {name.partition(', ')[2]}", found[name], peer, found.get(peer))
    return rows


def _rows(case: str, ours: dict[str, float], peer: str, other: dict[str, float] | None) -> list[Row]:
    if other is None:
        return [unavailable(case, peer, "it is not installed")]
    fields = FoamMeasures.__dataclass_fields__
    values = {name: (ours[name], other[name]) for name in fields}
    snr = f"signal to noise ({TARGET}: 1.6 times)" if peer == "plain" else "signal to noise"
    made = [Row(case, f"PSNR ({TARGET}: above)", "dB", *_pair(values["psnr"], peer), None)]
    if peer == "plain":
        made.append(Row(case, snr, "", *_pair(values["snr"], peer), values["snr"][0] / values["snr"][1]))
        first, second = values["correlation"]
        made.append(Row(case, "Fourier shell correlation", "", first, peer, second, first / second))
        first, second = values["edge"]
        made.append(Row(case, "width of edges", "voxels", first, peer, second, second / first))
        made.append(Row(case, "time", "s", ours.get("seconds"), peer, None, None))
    return made


def _pair(values: tuple[float, float], peer: str) -> tuple[float, str, float]:
    return values[0], peer, values[1]


if __name__ == "__main__":
    main()
