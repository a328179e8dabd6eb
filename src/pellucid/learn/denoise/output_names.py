"""What denoising leaves beside its output, and where it can be watched.

Here: the names of the network, of the report and of the training's folder.
Not here: writing them (pipeline, report). Nothing here needs PyTorch.
"""

from pathlib import Path

from pellucid.engines.partial_output import SUFFIX

TRAINING = "training"


def kept_network(target: Path) -> Path:
    """Where the trained network is kept.

    >>> str(kept_network(Path("/data/clean.zarr")))
    '/data/clean.network'
    """
    return target.with_name(f"{target.stem}.network")


def training_folder(target: Path) -> Path:
    """Of the training while it runs, and until the output is complete: a TrainingFolder."""
    network = kept_network(target)
    return network.with_name(f"{network.name}{SUFFIX}") / TRAINING


def report_file(target: Path, end: str) -> Path:
    """Of the report; end: ".json" or ".png"."""
    return target.with_name(f"{target.name}.denoise{end}")
