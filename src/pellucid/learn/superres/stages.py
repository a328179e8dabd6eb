"""``pellucid train superres``: both stages, each kept and scored.

Here: train_super_resolution, SuperResolutionRequest, score.
Not here: the command (cli), what is learnt (objective), applying a network (infer).
"""

import hashlib
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pellucid.engines.engine import Engine
from pellucid.engines.output_check import check_output
from pellucid.engines.partial_output import PartialOutput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.infer.statistics import measure_statistics
from pellucid.learn.networks.raw_values import RawValues
from pellucid.learn.networks.super_resolution import Generator, GeneratorForm
from pellucid.learn.quality.image_quality import psnr, similarity
from pellucid.learn.quality.shell_correlation import shell_correlation
from pellucid.learn.report.training_report import write_training_report
from pellucid.learn.superres.degradation import Degradation
from pellucid.learn.superres.objective import WEIGHTS, SuperResolutionTraining, divided
from pellucid.learn.superres.options import SuperResolutionOptions
from pellucid.learn.training.devices import choose_devices
from pellucid.learn.training.loop import LearningResult
from pellucid.learn.training.network_output import training_key
from pellucid.learn.training.options import LearningControl
from pellucid.learn.training.running import train_on, training_device, worker_gpus
from pellucid.learn.training.state_folder import CURVE, TrainingFolder
from pellucid.learn.training.time_limit import TimeLimitReached
from pellucid.neural.checkpoints import load_arrays
from pellucid.volume.volume import open_volume

L1, GAN = "l1", "gan"
MAX_SCORED = (48, 160, 160)


@dataclass(frozen=True)
class SuperResolutionRequest:
    """volumes: fine ones to learn from. output: the folder of the network; that of the first of two stages is in ``l1``
    in it."""

    volumes: tuple[str, ...]
    output: Path
    options: SuperResolutionOptions = field(default_factory=SuperResolutionOptions)


@dataclass(frozen=True)
class Score:
    """Against the truth: PSNR in dB, structural similarity, mean Fourier shell correlation. consistency: difference
    between the result, degraded, and what it was made from, in standard deviations of the latter."""

    psnr: float
    ssim: float
    correlation: float
    consistency: float


def train_super_resolution(
    request: SuperResolutionRequest,
    control: LearningControl | None = None,
    engine: Engine | None = None,
    *,
    overwrite: bool = False,
) -> tuple[LearningResult, dict[str, Score]]:
    """Train all stages, and write the folder of the network. Interrupted, the same call continues. Returns the curve of
    the last stage, and the scores of all stages and of cubic interpolation on the slices that are held out."""
    control = control or LearningControl()
    job = plan_training(request, training_device(engine, control))
    check_output(request.output, job.inputs)
    with (
        PartialOutput(Location(str(request.output.absolute())), overwrite=overwrite) as partial,
        partial.naming_target(),
    ):
        partial.begin(hashlib.sha256(training_key(job).encode()).hexdigest())
        first = _stage(job, partial.folder / L1, control, engine)
        reached, network = first, partial.folder / L1 / "network"
        if request.options.gan is not None:
            second = _second(job, request.options.gan, str(network / WEIGHTS))
            reached = _stage(second, partial.folder / GAN, control, engine)
            network = partial.folder / GAN / "network"
        stages = [L1, GAN] if job.superres.gan else [L1]
        device = choose_devices("auto" if worker_gpus(engine, control) else control.device)[0]
        scores = _scores(job, [(stage, partial.folder / stage / "network") for stage in stages], device)
        facts = {
            "volumes": job.volumes,
            "options": asdict(job.superres),
            "scores": {k: asdict(v) for k, v in scores.items()},
        }
        write_training_report(reached.curve, network.parent, network, facts)
        final = partial.output.local
        shutil.copytree(network, final, ignore=shutil.ignore_patterns(WEIGHTS))
        if network.parent.name == GAN:
            shutil.copytree(partial.folder / L1 / "network", final / L1, ignore=shutil.ignore_patterns(WEIGHTS))
        partial.publish()
    return reached, scores


def plan_training(request: SuperResolutionRequest, device: str) -> SuperResolutionTraining:
    options = request.options.fitted(device)
    locations: tuple[str, ...] = tuple(str(Location.parse(one).absolute) for one in request.volumes)
    means, squares = [], []
    for location in locations:
        with open_volume(location) as volume:
            divided(volume.box, options)
            statistics = measure_statistics(volume)
        means.append(statistics.mean)
        squares.append(statistics.std**2 + statistics.mean**2)
    mean = float(np.mean(means))
    std = float(np.sqrt(max(float(np.mean(squares)) - mean**2, 0.0))) or 1.0
    form = GeneratorForm(options.degradation.factor, options.width, is_planar=options.is_anisotropic)
    name = Path(Location.parse(request.volumes[0]).path).name
    return SuperResolutionTraining(locations, form, options, options.l1, mean, std, name=name)


def _second(job: SuperResolutionTraining, options: Any, start: str) -> SuperResolutionTraining:
    return replace(job, options=options, start=start)


def _stage(
    job: SuperResolutionTraining, folder: Path, control: LearningControl, engine: Engine | None
) -> LearningResult:
    """Train a stage unless it is complete; its network is in ``network`` in the folder."""
    network = folder / "network"
    if network.exists():
        curve = TrainingFolder(network).curve
        if curve is not None:
            return LearningResult(curve)
    growing = folder / "growing"
    shutil.rmtree(growing, ignore_errors=True)
    reached = train_on(engine, job, folder, growing, control)
    if not reached.is_complete:
        raise TimeLimitReached(reached.curve)
    reached.curve.write(growing / CURVE)
    growing.rename(network)
    return reached


def _scores(job: SuperResolutionTraining, networks: list[tuple[str, Path]], device: str) -> dict[str, Score]:
    """On the held-out slices of the first volume."""
    degradation = job.superres.degradation
    with open_volume(job.volumes[0]) as volume:
        _, held_out = divided(volume.box, job.superres)
        fine = job.superres.oriented(volume.read(held_out).astype(np.float32))
    fine = fine[
        tuple(slice(0, min(n, m) // f * f) for n, m, f in zip(fine.shape, MAX_SCORED, degradation.factor, strict=True))
    ]
    coarse = degradation.apply(fine)
    found = {"cubic": score(fine, degradation.interpolate(coarse), coarse, degradation)}
    for name, folder in networks:
        found[name] = score(fine, _restored(job, folder, coarse, device), coarse, degradation)
    return found


def _restored(job: SuperResolutionTraining, network: Path, coarse: Voxels, device: str) -> Voxels:
    """An array at once, by the weights of a stage."""
    generator = Generator(job.form)
    weights = load_arrays(network / WEIGHTS) or {}
    generator.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    whole = RawValues(generator, job.mean, job.std).to(device).eval()
    with torch.inference_mode():
        made: Voxels = whole(torch.from_numpy(coarse)[None, None].to(device))[0, 0].cpu().numpy()
    return made


def score(truth: Voxels, found: Voxels, coarse: Voxels, degradation: Degradation) -> Score:
    span = float(np.ptp(truth)) or 1.0
    difference = float(np.sqrt(np.mean((degradation.apply(found) - coarse) ** 2)) / (coarse.std() or 1.0))
    correlation = shell_correlation(truth, found).mean
    return Score(psnr(truth, found, span), similarity(truth, found, span), correlation, difference)
