"""How much better than cubic interpolation does a network restore thick slices, in a volume that it has not seen?

    python -m benchmarks.learn_superres [--quick] [--json FILE] [--parts FOLDER] [--part all|average|subsample|table]

It learns from fibsem_2 (isotropic, 10 nm) made four times coarser along z, and is scored on fibsem_1, another part of
the same brain: the first stage (mean absolute difference), the second one (with a discriminator), and
cubic interpolation.
"""

import argparse
import json
import math
import os
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.entry_points import with_entry_points
from benchmarks.learn_limit import ending_trainings_in
from benchmarks.table import TARGET, Options, Row, report, unavailable
from pellucid.formats.protocol import Voxels
from pellucid.learn.superres.degradation import Degradation
from pellucid.volume.volume import open_volume

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
MODES = ("average", "subsample")
METRICS = {"psnr": ("PSNR", "dB"), "ssim": ("SSIM", ""), "correlation": ("Fourier shell correlation", ""),
           "consistency": ("consistency (0: as the input)", "standard deviations")}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Super-resolution along z, beside cubic interpolation.")
    parser.add_argument("--quick", action="store_true", help="a small part, a few steps")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--part", choices=("all", *MODES, "table"), default="all")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where parts are kept (default: nowhere)")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="with em/fibsem_1.h5 and fibsem_2.h5")
    parser.add_argument("--steps", type=int, default=3000, help="of the first stage")
    parser.add_argument("--gan-steps", type=int, default=1000, help="of the second stage; 0 for none")
    parser.add_argument("--width", type=int, default=0, help="of the network (default: what suits the device)")
    parser.add_argument("--limit", type=float, default=math.inf, metavar="S", help="seconds of both stages at most")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        parts = given.parts or Path(folder)
        parts.mkdir(parents=True, exist_ok=True)
        for mode in MODES:
            if given.part in ("all", mode):
                counts = (8, 2) if given.quick else (given.steps, given.gan_steps)
                size = (given.width, given.limit)
                found = measure(given.data / "em", mode, counts, size, is_quick=given.quick)
                print(mode, json.dumps(found), flush=True)
                (parts / f"{mode}.json").write_text(json.dumps(found) + "\n")
        if given.part in ("all", "table"):
            report("learn_superres", table(parts), "fibsem_1, 248 × 250²", Options(given.quick, given.json))


def measure(
    folder: Path, mode: str, counts: tuple[int, int], size: tuple[int, float], *, is_quick: bool
) -> dict[str, dict[str, float]]:
    """counts: steps of both stages. size: width of the network, and seconds that both stages may take."""
    from pellucid.learn.superres.options import SuperResolutionOptions
    from pellucid.learn.superres.stages import SuperResolutionRequest, score, train_super_resolution
    from pellucid.learn.training.options import LearningControl, LearningOptions

    epochs = (1, 1) if is_quick else (8, 4)
    l1 = LearningOptions(steps=counts[0], batch=4, epoch_steps=max(1, counts[0] // epochs[0]), rate=1e-3)
    gan = (
        LearningOptions(steps=counts[1], batch=4, epoch_steps=max(1, counts[1] // epochs[1]), rate=1e-4)
        if counts[1]
        else None
    )
    sizes = {"width": 2, "patch": (16, 24, 24)} if is_quick else {"width": size[0]}
    options = SuperResolutionOptions(Degradation((4, 1, 1), mode), l1=l1, gan=gan, **sizes)
    many = (os.cpu_count() or 1) > 8
    with tempfile.TemporaryDirectory() as place, open_volume(f"{folder / 'fibsem_1.h5'}:/raw") as volume:
        network, start = Path(place) / "net", time.perf_counter()
        request = SuperResolutionRequest((learnt(folder, Path(place), is_quick=is_quick),), network, options)
        with ending_trainings_in(Path(place), size[1]):
            reached, _ = train_super_resolution(
                request, LearningControl(threads=8 if many else 2, loaders=8 if many else 2)
            )
        seconds = time.perf_counter() - start
        fine = volume.read()[:248].astype(np.float32)
        fine = fine[:48, :64, :64] if is_quick else fine
        coarse = options.degradation.apply(fine)
        found = {"cubic": asdict(score(fine, options.degradation.interpolate(coarse), coarse, options.degradation))}
        stages = {"l1": network / "l1" if gan else network, **({"gan": network} if gan else {})}
        for stage, path in stages.items():
            made = restored(coarse, path, Path(place))
            found[stage] = asdict(score(fine, made, coarse, options.degradation))
    found["l1"] |= {
        "seconds": seconds,
        "device GB": reached.device_bytes / 2**30,
        "steps of the last stage": float(reached.curve.step),
    }
    return found


def learnt(folder: Path, scratch: Path, *, is_quick: bool) -> str:
    """The volume to learn from; for the short version, a corner of it."""
    whole = f"{folder / 'fibsem_2.h5'}:/raw"
    if not is_quick:
        return whole
    with open_volume(whole) as volume:
        np.save(scratch / "learnt.npy", volume[:80, :64, :64])
    return str(scratch / "learnt.npy")


def restored(coarse: Voxels, network: Path, folder: Path) -> Voxels:
    """Through the product: windows, from file to file."""
    from pellucid.infer.apply import RunControl, apply_network

    np.save(folder / "coarse.npy", np.ascontiguousarray(coarse))
    target = folder / f"fine-{network.name}.npy"
    volume, _ = apply_network(
        folder / "coarse.npy", target, network, control=RunControl(overwrite=True, is_checked=False)
    )
    with volume:
        return volume.read()


def table(parts: Path) -> list[Row]:
    rows: list[Row] = []
    for mode in MODES:
        path = parts / f"{mode}.json"
        if not path.exists():
            rows.append(unavailable(mode, "cubic", "this part has not run"))
            continue
        found = json.loads(path.read_text())
        for stage in [name for name in ("l1", "gan") if name in found]:
            for key, (metric, unit) in METRICS.items():
                is_goal = key == "psnr" and stage == "l1" and mode == "average"
                name = f"{metric} ({TARGET}: 1 dB above)" if is_goal else metric
                rows.append(Row(f"{mode}, {stage}", name, unit, found[stage][key], "cubic", found["cubic"][key], None))
        rows += [
            Row(f"{mode}, all stages", key, "", found["l1"][key], "-", None, None)
            for key in ("seconds", "steps of the last stage", "device GB")
        ]
    return rows


if __name__ == "__main__":
    main()
