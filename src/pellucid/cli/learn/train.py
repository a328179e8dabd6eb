"""``pellucid train``: train a network on volumes.

Here: the arguments of ``train segment`` and ``train superres``, and what they print.
Not here: training (pellucid.learn).
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.cli.arguments import add_memory, count_argument, positive_argument, shape_argument
from pellucid.cli.learn.arguments import (
    add_training,
    learning_changes,
    learning_control,
    training_engine,
)
from pellucid.cli.optional_packages import requires_extra

if TYPE_CHECKING:
    from pellucid.learn.training.loop import LearningResult
    from pellucid.learn.training.options import LearningOptions


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("train", help="train a network on volumes")
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    _add_segment(kinds.add_parser("segment", help="find boundaries between objects, or label voxels with classes"))
    _add_superres(kinds.add_parser("superres", help="restore resolution, such as that of thick slices"))


def _add_segment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--volume", required=True, help="volume to learn from: file, folder or s3:// address")
    parser.add_argument(
        "--labels", required=True, help="volume of the same shape: the object or the class of every voxel"
    )
    _add_output(parser)
    parser.add_argument(
        "--kind",
        choices=("2d", "2.5d", "3d"),
        default="3d",
        help="single slices, slices with their neighbours, or volumes",
    )
    parser.add_argument(
        "--target", choices=("boundaries", "classes"), default="boundaries", help="what the network learns to predict"
    )
    parser.add_argument(
        "--ignore",
        type=int,
        metavar="LABEL",
        help="label of voxels to leave out, such as 0 for voxels that are not labelled",
    )
    parser.add_argument(
        "--boundary-label", type=int, metavar="LABEL", help="label of voxels that are boundaries themselves"
    )
    parser.add_argument("--box", help="the labelled part: z0:z1,y0:y1,x0:x1 (default: all)")
    parser.add_argument(
        "--neighbours", type=count_argument, help="slices on either side for a 2.5D network (default: 2)"
    )
    parser.add_argument(
        "--isotropic",
        action="store_true",
        help="the volume looks alike along all axes: also rotate samples about y and x",
    )
    _add_network(parser)
    parser.set_defaults(run=run_segment)


def _add_superres(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--volume", required=True, action="append", help="fine volume to learn from; repeat it for several"
    )
    _add_output(parser)
    parser.add_argument(
        "--factor",
        type=shape_argument,
        default=(4, 1, 1),
        metavar="Z,Y,X",
        help="fine voxels for each coarse one (default: 4,1,1)",
    )
    parser.add_argument(
        "--anisotropic",
        action="store_true",
        help="the volume has thick slices: learn within them, along y and x, what the network does along z",
    )
    parser.add_argument(
        "--degradation",
        choices=("average", "subsample"),
        default="average",
        help="how coarse volumes are computed from fine ones",
    )
    parser.add_argument(
        "--gan-steps", type=count_argument, metavar="COUNT", help="steps of a second stage with a discriminator"
    )
    parser.add_argument(
        "--adversarial",
        type=positive_argument,
        help="weight of the discriminator relative to the difference (default: 0.01)",
    )
    _add_network(parser)
    parser.set_defaults(run=run_superres)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FOLDER", help="folder of the network")
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing network")
    running = parser.add_argument_group("running")
    running.add_argument("--device", default="auto", help="cpu, cuda, cuda:1 or mps (default: a GPU if available)")
    add_memory(running)
    running.add_argument("--engine", help="train on an engine instead of in this process: serial, local, processes ...")


def _add_network(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("network")
    group.add_argument("--width", type=count_argument, help="channels of the finest level")
    group.add_argument("--patch", type=shape_argument, metavar="Z,Y,X", help="voxels of a sample")
    add_training(parser)


def run_segment(options: argparse.Namespace) -> int:
    with requires_extra("learn"):
        from pellucid.learn.segment.options import SegmentOptions
        from pellucid.learn.segment.training import SegmentRequest, train_segmentation
    usual = SegmentOptions()
    chosen = SegmentOptions(
        kind=options.kind,
        target=options.target,
        ignored=options.ignore,
        boundary=options.boundary_label,
        neighbours=options.neighbours or usual.neighbours,
        width=options.width or 0,
        patch=options.patch,
        is_isotropic=options.isotropic,
        learning=_learning(usual.learning, options),
    )
    request = SegmentRequest(options.volume, options.labels, options.output, options.box, chosen)
    reached = train_segmentation(request, **_how(options))
    return _show(options, reached)


def run_superres(options: argparse.Namespace) -> int:
    with requires_extra("learn"):
        from pellucid.learn.superres.degradation import Degradation
        from pellucid.learn.superres.options import SuperResolutionOptions
        from pellucid.learn.superres.stages import SuperResolutionRequest, train_super_resolution
    usual = SuperResolutionOptions()
    first = _learning(usual.l1, options)
    chosen = SuperResolutionOptions(
        degradation=Degradation(options.factor, options.degradation),
        width=options.width or 0,
        patch=options.patch,
        l1=first,
        gan=replace(first, steps=options.gan_steps, rate=first.rate / 5) if options.gan_steps else None,
        adversarial=options.adversarial or usual.adversarial,
        is_anisotropic=options.anisotropic,
    )
    request = SuperResolutionRequest(tuple(options.volume), options.output, chosen)
    reached, scores = train_super_resolution(request, **_how(options))
    for name, score in scores.items():
        print(
            f"{name:6} PSNR {score.psnr:.2f} dB, SSIM {score.ssim:.4f}, Fourier shell correlation "
            f"{score.correlation:.3f}, consistency {score.consistency:.4f}"
        )
    return _show(options, reached)


def _learning(usual: "LearningOptions", options: argparse.Namespace) -> "LearningOptions":
    return replace(usual, **{name: value for name, value in learning_changes(options).items() if value is not None})


def _how(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "control": learning_control(options),
        "engine": training_engine(options.engine, options.memory),
        "overwrite": options.overwrite,
    }


def _show(options: argparse.Namespace, reached: "LearningResult") -> int:
    curve = reached.curve
    print(f"wrote {options.output}: {curve.step:,} steps in {curve.seconds:,.0f} s")
    if curve.validations:
        numbers = ", ".join(f"{name} {value:.4g}" for name, value in curve.validations[-1].items() if name != "step")
        print(f"held-out part: {numbers}")
    print(f"the curve and a sample are in {options.output / 'report.png'}")
    return 0
