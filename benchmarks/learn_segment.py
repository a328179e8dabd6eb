"""How well are neurons separated: by our network, by a random forest on the same labels, and by the published network?

    python -m benchmarks.learn_segment [--quick] [--json FILE] [--parts FOLDER] [--part all|ours|forest|table]

Boundaries are learnt in the first half of fibsem_2 (250³ of a fly's brain at 10 nm); objects are made and compared with
the true ones in the second half, by the adapted Rand error. The random forest sees Gaussians, gradients and eigenvalues
of the Hessian over several scales; its boundaries become objects in the same way. Thresholds of both are the best of
some on the last slices of the first half. The published result is that of a flood-filling network, of the whole volume.
"""

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import ndimage

from benchmarks.entry_points import with_entry_points
from benchmarks.learn_limit import ending_trainings_in
from benchmarks.table import TARGET, Options, Row, report, unavailable
from pellucid.box import Box
from pellucid.formats.protocol import Voxels
from pellucid.infer.apply import RunControl
from pellucid.infer.objects.agglomeration import agglomerate, join_contacts
from pellucid.infer.objects.object_tasks import STEPS, contacts_between, in_steps
from pellucid.infer.objects.watershed import drain, heights
from pellucid.learn.quality.rand_error import adapted_rand_error
from pellucid.volume.volume import open_volume

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
TRAIN, TEST = "0:125,:,:", slice(125, 250)
QUICK_TRAIN, QUICK_TEST = "0:64,0:96,0:96", (slice(125, 189), slice(0, 96), slice(0, 96))
QUICK_APPLIED = "44:189,0:96,0:96"
"""The part that is scored: the last slices of what is learnt, and what is tested."""
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SCALES = (0.7, 1.0, 1.6, 3.5, 5.0)
FOREST_VOXELS, QUICK_FOREST_VOXELS = 200_000, 10_000
FFN = "flood-filling network (published)"


def main() -> None:
    parser = argparse.ArgumentParser(description="Neurons in an electron microscope's volume.")
    parser.add_argument("--quick", action="store_true", help="a small part, a few steps")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--part", choices=("all", "ours", "forest", "table"), default="all")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where parts are kept (default: nowhere)")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="with em/fibsem_2.h5")
    parser.add_argument("--steps", type=int, default=4000, help="of our training")
    parser.add_argument("--limit", type=float, default=math.inf, metavar="S", help="seconds of our training at most")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        parts = given.parts or Path(folder)
        parts.mkdir(parents=True, exist_ok=True)
        case = Case(given.data / "em", given.quick)
        if given.part in ("all", "ours"):
            with ending_trainings_in(Path(folder), given.limit):
                save(parts / "ours.json", ours(case, Path(folder), 30 if given.quick else given.steps))
        if given.part in ("all", "forest"):
            try:
                save(parts / "forest.json", forest(case))
            except ModuleNotFoundError as error:
                print(f"the random forest is not measured: {error.name} is not installed", flush=True)
        if given.part in ("all", "table"):
            save(parts / "ffn.json", published(case))
            size = f"{' × '.join(map(str, case.truth.shape))} voxels of fibsem_2, not trained on"
            report("learn_segment", table(parts), size, Options(given.quick, given.json))


def save(path: Path, found: dict[str, float]) -> None:
    print(path.stem, json.dumps(found), flush=True)
    path.write_text(json.dumps(found) + "\n")


class Case:
    """The part that is learnt from, and the part that is tested."""

    def __init__(self, folder: Path, is_quick: bool) -> None:
        self.path, self.folder = folder / "fibsem_2.h5", folder
        self.is_quick, self.train = is_quick, QUICK_TRAIN if is_quick else TRAIN
        self.test = QUICK_TEST if is_quick else (TEST, slice(None), slice(None))
        self.applied = Box.parse(QUICK_APPLIED, (250, 250, 250)) if is_quick else None
        with open_volume(f"{self.path}:/raw") as raw, open_volume(f"{self.path}:/labels") as labels:
            self.raw, self.labels = raw.read(), labels.read()
            self.learnt = Box.parse(self.train, raw.shape).slices

    @property
    def truth(self) -> Voxels:
        return self.labels[self.test]

    @property
    def tuned(self) -> tuple[slice, slice, slice]:
        """The last slices of the part that is learnt from."""
        z, y, x = self.learnt
        return (slice(z.stop - 20, z.stop), y, x)


def ours(case: Case, folder: Path, steps: int) -> dict[str, float]:
    """Trained through the product; its boundaries, on the device, become objects as in the product."""
    from pellucid.infer.apply import OutputValues, apply_network
    from pellucid.infer.job import InferenceOptions
    from pellucid.learn.segment.options import SegmentOptions
    from pellucid.learn.segment.training import SegmentRequest, train_segmentation
    from pellucid.learn.training.options import LearningControl, LearningOptions

    learning = LearningOptions(
        steps=steps, batch=4, epoch_steps=max(1, steps // (2 if case.is_quick else 8)), rate=2e-3
    )
    options = SegmentOptions(is_isotropic=True, learning=learning)
    options = replace(options, width=4, patch=(16, 32, 32)) if case.is_quick else options
    request = SegmentRequest(f"{case.path}:/raw", f"{case.path}:/labels", folder / "net", case.train, options)
    start = time.perf_counter()
    control = LearningControl(threads=min(os.cpu_count() or 1, 8), loaders=8 if (os.cpu_count() or 1) > 8 else 2)
    reached = train_segmentation(request, control)
    trained = time.perf_counter() - start
    channels = []
    for channel in range(3):
        target = folder / f"boundary{channel}.npy"
        volume, _ = apply_network(
            f"{case.path}:/raw",
            target,
            folder / "net",
            InferenceOptions(box=case.applied),
            values=OutputValues(channel, "float32"),
            control=RunControl(is_checked=False),
        )
        with volume:
            whole = np.zeros(case.raw.shape, np.float32)
            whole[case.applied.slices if case.applied else ...] = volume.read()
            channels.append(whole)
    found = scored(case, lambda part: np.stack([channel[part] for channel in channels]))
    taken = float(reached.curve.step)
    return {**found, "training s": trained, "steps": taken, "device GB": reached.device_bytes / 2**30}


def forest(case: Case) -> dict[str, float]:
    """Boundaries between each voxel and the one before it along every axis, by a random forest for each."""
    from sklearn.ensemble import RandomForestClassifier

    start = time.perf_counter()
    learnt = features(case.raw[case.learnt])
    labels, random = case.labels[case.learnt], np.random.default_rng(0)
    forests = []
    for axis in range(3):
        truth = np.zeros(labels.shape, bool)
        truth[(slice(None),) * axis + (slice(1, None),)] = np.diff(labels, axis=axis) != 0
        chosen = random.choice(
            truth.size, min(QUICK_FOREST_VOXELS if case.is_quick else FOREST_VOXELS, truth.size // 4), replace=False
        )
        classifier = RandomForestClassifier(100, min_samples_leaf=4, n_jobs=-1, random_state=0)
        forests.append(classifier.fit(learnt.reshape(-1, learnt.shape[-1])[chosen], truth.ravel()[chosen]))
    del learnt

    def boundaries(part: tuple[slice, slice, slice]) -> Voxels:
        table = features(case.raw[part])
        flat = table.reshape(-1, table.shape[-1])
        return np.stack([one.predict_proba(flat)[:, 1].reshape(table.shape[:3]) for one in forests]).astype(np.float32)

    return {**scored(case, boundaries), "training s": time.perf_counter() - start}


def features(raw: Voxels) -> Voxels:
    """(z, y, x, feature)."""
    values, found = raw.astype(np.float32), []
    for scale in SCALES:
        smooth = ndimage.gaussian_filter(values, scale)
        found += [smooth, ndimage.gaussian_gradient_magnitude(values, scale), ndimage.gaussian_laplace(values, scale)]
        found += eigenvalues_of_hessian(smooth)
    return np.stack(found, -1)


def eigenvalues_of_hessian(smooth: Voxels) -> list[Voxels]:
    """Of every voxel, largest first, in closed form: a solver takes minutes for millions of 3 x 3 matrices."""
    slopes = np.gradient(smooth)
    zz, zy, zx = np.gradient(slopes[0])
    yy, yx = np.gradient(slopes[1], axis=(1, 2))
    xx = np.gradient(slopes[2], axis=2)
    mean = (zz + yy + xx) / 3
    zz, yy, xx = zz - mean, yy - mean, xx - mean
    scale = np.sqrt((zz**2 + yy**2 + xx**2 + 2 * (zy**2 + zx**2 + yx**2)) / 6) + 1e-12
    volume = zz * (yy * xx - yx**2) - zy * (zy * xx - yx * zx) + zx * (zy * yx - yy * zx)
    angle = np.arccos(np.clip(volume / (2 * scale**3), -1, 1)) / 3
    return [np.asarray(mean + 2 * scale * np.cos(angle + turn * 2 * np.pi / 3), np.float32) for turn in (0, 2, 1)]


def scored(case: Case, boundaries: Callable[[tuple[slice, slice, slice]], Voxels]) -> dict[str, float]:
    """The adapted Rand error of the tested part, with the threshold that is best on the last learnt slices."""
    tuned = objects(boundaries(case.tuned), THRESHOLDS)
    errors = [adapted_rand_error(case.labels[case.tuned], found).error for found in tuned]
    best = THRESHOLDS[int(np.argmin(errors))]
    made = objects(boundaries(case.test), [best])[0]
    result = adapted_rand_error(case.truth, made)
    return {
        "error": result.error, "precision": result.precision, "recall": result.recall, "threshold": best,
        "objects": float(len(np.unique(made))),
    }  # fmt: skip


def objects(boundary: Voxels, thresholds: Sequence[float], min_size: int = 100) -> list[Voxels]:
    """As pellucid.infer.objects does it in blocks, for several thresholds."""
    stored = in_steps(boundary)
    shape = stored.shape[1:]
    whole = Box.whole(shape)
    height = heights(stored.mean(axis=0, dtype=np.float32) / STEPS)
    fragments = drain(height, whole, whole, shape).fragments
    named, numbers, sizes = np.unique(fragments, return_inverse=True, return_counts=True)
    edges = contacts_between(fragments, stored, shape)
    pairs = np.searchsorted(named, edges["pairs"])
    contacts = join_contacts(len(named), (pairs[:, 0], pairs[:, 1]), (edges["total"], edges["area"]), sizes)
    return [agglomerate(contacts, t * STEPS, min_size)[numbers].reshape(shape) for t in thresholds]


def published(case: Case) -> dict[str, float]:
    """Where both have a label, as published; and where the truth has one."""
    with np.load(case.folder / "fibsem_2_ffn.npz") as file:
        found = file["segmentation"]
    whole = adapted_rand_error(case.labels, found, both=True)
    part = adapted_rand_error(case.truth, found[case.test])
    labelled = adapted_rand_error(case.truth, found[case.test], both=True)
    return {"whole": whole.error, "error": part.error, "labelled": labelled.error}


def table(parts: Path) -> list[Row]:
    found = {path.stem: json.loads(path.read_text()) for path in sorted(parts.glob("*.json"))}
    mine, rows = found.get("ours"), []
    if mine is None:
        return [unavailable("objects", "ours", "this part has not run")]
    for name, peer in (("forest", "random forest"), ("ffn", FFN)):
        if name not in found:
            rows.append(unavailable("objects", peer, "this part has not run"))
            continue
        goal = f" ({TARGET}: half)" if name == "forest" else ""
        other = found[name]["error"]
        rows.append(Row("objects", f"adapted Rand error{goal}", "", mine["error"], peer, other, other / mine["error"]))
    if "ffn" in found:
        for metric, key in (
            ("the same, where both have a label", "labelled"),
            ("the same, of the whole volume", "whole"),
        ):
            rows.append(
                Row("objects", metric, "", mine["error"], FFN, found["ffn"][key], found["ffn"][key] / mine["error"])
            )
    rows += [
        Row("objects", name, "", mine[name], "-", None, None)
        for name in ("precision", "recall", "threshold", "objects")
    ]
    training = ("training s", "steps", "device GB")
    return [*rows, *(Row("training", name, "", mine[name], "-", None, None) for name in training)]


if __name__ == "__main__":
    main()
