"""``pellucid denoise``: from a scan to a volume with less noise.

Here: denoise(), which goes through all stages, and continues where it was interrupted.
Not here: the stages before training (stages), what is learnt (objective), applying networks (infer).

While it works, everything lies in the folder beside the output in which the network grows: slices, sets of slices, the
training and its network. When the output is complete, the network gets its name, and the rest is removed.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from pellucid.box import Box, triple
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.output_check import check_output
from pellucid.engines.partial_output import PartialOutput
from pellucid.errors import OutputExists
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.infer.apply import WORKERS, OutputValues, RunControl, apply_network
from pellucid.infer.job import InferenceOptions, NetworkFile
from pellucid.infer.report import InferenceReport
from pellucid.infer.statistics import measure_statistics
from pellucid.learn.denoise.objective import CORRELATIONS, DenoiseTraining
from pellucid.learn.denoise.output_names import TRAINING
from pellucid.learn.denoise.report import DenoiseReport, before_after, write_report
from pellucid.learn.denoise.request import DenoiseRequest, RunChoices
from pellucid.learn.denoise.slice_sets import SetVolume
from pellucid.learn.denoise.stages import DenoiseInput, halves_stage, reconstruct_stage
from pellucid.learn.networks.unet import UNetForm
from pellucid.learn.quality.regions import signal_to_noise
from pellucid.learn.quality.shell_correlation import ShellCorrelation
from pellucid.learn.training.curve import LearningCurve
from pellucid.learn.training.options import LearningControl
from pellucid.learn.training.running import train_on, training_device
from pellucid.learn.training.state_folder import CURVE, PREVIEWS, TrainingFolder
from pellucid.learn.training.time_limit import TimeLimitReached
from pellucid.volume.volume import Volume, open_volume

VERSION = 1
"""Changes with everything that makes earlier remains useless."""
RANGE_MARGIN = 0.05
"""Of the span of a sample, on either side of the range of an output of whole numbers."""
NETWORK = "network"


def denoise(request: DenoiseRequest, running: RunChoices | None = None) -> DenoiseReport:
    """Denoise a scan. Interrupted, or ended by its time limit, the same call continues."""
    running = running or RunChoices()
    target, network = request.target.absolute, request.kept_network
    sources = [request.scan] if request.scan else list(request.halves)
    check_output(target, sources)
    check_output(network, [*sources, target])
    if target.local.exists() and not running.overwrite:
        raise OutputExists(target.path)
    partial = PartialOutput(Location(str(network)), overwrite=running.overwrite or request.network is not None)
    with partial, partial.naming_target():
        partial.begin(_key(request, sources))
        report = _Run(request, running, partial.folder, partial.output.local).complete()
        if request.network is None:
            partial.publish()
        else:
            partial.discard()
    return report


def _key(request: DenoiseRequest, sources: list[str]) -> str:
    """Changes with the input and with every option that changes the result."""
    facts = asdict(request) | {"regions": None, "dtype": None, "value_range": None, "chunk": None}
    prints = [fingerprint(Location.parse(source).absolute) for source in sources]
    return hashlib.sha256(repr((VERSION, prints, sorted(facts.items(), key=str))).encode()).hexdigest()


@dataclass
class _Run:
    """One run. folder: of everything that is not complete. network: where the trained one grows."""

    request: DenoiseRequest
    running: RunChoices
    folder: Path
    network: Path
    seconds: dict[str, float] = field(default_factory=dict)

    def complete(self) -> DenoiseReport:
        with self._timing("slices"):
            stage = reconstruct_stage if self.request.scan else halves_stage
            given = stage(self.request, self.folder, self.running)
        network = self.request.network
        if network is None:
            with self._timing("training"):
                network = self._trained(given)
        with self._timing("applying"):
            value_range = self._value_range(network, given.whole)
            inferred = self._apply(network, given.whole, value_range)
        return self._report(given, inferred, value_range)

    @contextmanager
    def _timing(self, stage: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self.seconds[stage] = round(time.monotonic() - start, 3)

    def _trained(self, given: DenoiseInput) -> Path:
        """The folder of the network; it is there when the training is complete."""
        if self.network.exists():
            return self.network
        growing = self.folder / NETWORK
        shutil.rmtree(growing, ignore_errors=True)
        control = LearningControl(
            self.running.device,
            self.running.gpus,
            self.running.time_limit_s,
            self.running.threads,
            self.running.loaders,
        )
        job = self._job(given, training_device(self.running.training_engine, control))
        reached = train_on(self.running.training_engine, job, self.folder / TRAINING, growing, control)
        if not reached.is_complete:
            raise TimeLimitReached(reached.curve)
        reached.curve.write(growing / CURVE)
        for preview in (self.folder / TRAINING).glob(PREVIEWS):
            shutil.copyfile(preview, growing / preview.name)
        growing.rename(self.network)
        return self.network

    def _job(self, given: DenoiseInput, device: str) -> DenoiseTraining:
        options = self.request.options.fitted(device)
        part = given.mean or given.whole
        with open_volume(part.location) as volume:
            statistics = measure_statistics(_sample(volume, part.box))
        slices = part.box.shape[0]
        held_out = (slices - max(1, min(round(options.held_out * slices), slices - 1)), slices)
        centre = options.neighbours
        form = UNetForm(channels=options.channels, width=options.width, residual=centre, is_normalised=False)
        source = Path(self.request.scan or self.request.halves[0]).name
        return DenoiseTraining(
            given.sets, given.mean, form, options.patch, held_out, statistics.mean, statistics.std or 1.0,
            options.learning, source,
        )  # fmt: skip

    def _value_range(self, network: Path, whole: SetVolume) -> tuple[float, float] | None:
        """Of an output of whole numbers: the user's, or that of the values of some slices after the network."""
        if np.dtype(self.request.dtype).kind == "f" or self.request.value_range is not None:
            return self.request.value_range
        place = self.folder / "range.json"
        if place.exists():
            low, high = json.loads(place.read_text())
            return low, high
        box = whole.box
        start = box.start[0] + box.shape[0] // 2
        few = Box((start, *box.start[1:]), (min(start + 4, box.stop[0]), *box.stop[1:]))
        volume, _ = apply_network(
            whole.location, self.folder / "sample.npy", network, InferenceOptions(box=few, device=self.running.device),
            control=RunControl(overwrite=True, is_checked=False),
        )  # fmt: skip
        with volume:
            low, high = volume.value_range
        margin = RANGE_MARGIN * (high - low) or 1.0
        place.write_text(json.dumps([low - margin, high + margin]))
        return low - margin, high + margin

    def _apply(self, network: Path, whole: SetVolume, value_range: tuple[float, float] | None) -> InferenceReport:
        options = InferenceOptions(box=whole.box, chunk=self.request.chunk, device=self.running.device)
        engine = self.running.engine or make_engine("local", EngineOptions.from_settings(workers=WORKERS))
        values = OutputValues(None, self.request.dtype, value_range)
        control = RunControl(engine, self.running.overwrite, is_checked=False)
        volume, report = apply_network(
            whole.location, self.request.target, NetworkFile(network), options, values=values, control=control
        )
        volume.close()
        return report

    def _report(
        self, given: DenoiseInput, inferred: InferenceReport, value_range: tuple[float, float] | None
    ) -> DenoiseReport:
        request = self.request
        before, after = self._correlations()
        with before_after(given.whole, request.target.absolute, value_range) as compared:
            regions = compared.regions(request.regions)
            report = DenoiseReport(
                source=request.scan or ", ".join(request.halves),
                output=str(request.target),
                network=str(request.network or request.kept_network),
                options=asdict(request.options),
                value_range=value_range,
                regions={name: str(box) for name, box in regions.items()},
                snr_before=signal_to_noise(compared.read_before, regions),
                snr_after=signal_to_noise(compared.read_after, regions),
                correlation_before=before,
                correlation_after=after,
                curve=self._curve(),
                stages=self.seconds,
                runtime=inferred.networks[0].runtime,
            )
            write_report(report, compared, request.beside(".json"), request.beside(".png"))
        return report

    def _correlations(self) -> tuple[ShellCorrelation | None, ShellCorrelation | None]:
        path = self.network / CORRELATIONS
        if self.request.network is not None or not path.exists():
            return None, None
        read = json.loads(path.read_text())
        return ShellCorrelation(**read["before"]), ShellCorrelation(**read["after"])

    def _curve(self) -> LearningCurve | None:
        return None if self.request.network is not None else TrainingFolder(self.network).curve


def _sample(volume: Volume, box: Box) -> Volume:
    """Some slices of a box, in memory."""
    rows = sorted(set(np.linspace(box.start[0], box.stop[0] - 1, 8).astype(int).tolist()))
    slices = [volume.read(Box(triple((z, *box.start[1:])), triple((z + 1, *box.stop[1:])))) for z in rows]
    return Volume.from_array(np.concatenate(slices))
