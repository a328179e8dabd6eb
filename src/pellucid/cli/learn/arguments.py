"""Arguments that commands which train have in common.

Here: add_training, learning_changes, learning_control, training_engine.
Not here: the commands (denoise).
"""

import argparse
from typing import TYPE_CHECKING, Any

from pellucid.cli.arguments import count_argument, positive_argument, time_argument
from pellucid.learn.training.options import OPTIMISERS, PRECISIONS, LearningControl
from pellucid.settings import current

if TYPE_CHECKING:
    from pellucid.engines.engine import Engine

MAX_LOADERS = 8
SCHEDULE = ("steps", "batch", "epoch_steps", "optimiser", "rate", "seed", "precision")


def add_training(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training (default: those of the preset)")
    group.add_argument("--steps", type=count_argument, help="number of training steps")
    group.add_argument("--batch", type=count_argument, help="samples for each step, over all GPUs together")
    group.add_argument("--epoch-steps", type=count_argument, help="validate the network after this number of steps")
    group.add_argument("--optimiser", choices=OPTIMISERS, help="optimiser")
    group.add_argument("--rate", type=positive_argument, help="largest learning rate")
    group.add_argument("--seed", type=int, help="seed of the random numbers")
    group.add_argument("--precision", choices=PRECISIONS, help="precision of the convolutions")
    group.add_argument("--gpus", type=count_argument, default=1, help="GPUs that train together")
    group.add_argument(
        "--time-limit",
        type=time_argument,
        metavar="T",
        default=float("inf"),
        help="save and exit with code 75 after this time, such as 50min; the same command continues",
    )
    group.add_argument("--threads", type=count_argument, default=0, help="CPU threads of PyTorch (default: its own)")
    group.add_argument(
        "--loaders",
        type=count_argument,
        default=min(MAX_LOADERS, max(2, current().threads // 2)),
        help="threads that prepare batches (default: half of the cores, from 2 to 8)",
    )


def learning_changes(options: argparse.Namespace) -> dict[str, Any]:
    """What the arguments change of a schedule; None where they do not."""
    return {name: getattr(options, name) for name in SCHEDULE}


def learning_control(options: argparse.Namespace) -> LearningControl:
    return LearningControl(options.device, options.gpus, options.time_limit, options.threads, options.loaders)


def training_engine(name: str | None, memory: str | None) -> "Engine | None":
    """The engine that trains; None for this process."""
    if name is None:
        return None
    from pellucid.engines.engine import EngineOptions, make_engine
    from pellucid.settings import load

    return make_engine(name, EngineOptions(1, load(memory_bytes=memory).memory_bytes, attempts=1))
