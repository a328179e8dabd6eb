"""``pellucid demo``: the main job from end to end, on a sample that it makes itself.

Here: the steps, in the words a person would use.
Not here: the steps' work.
"""

import argparse
from pathlib import Path

from pellucid.cli.arguments import count_argument
from pellucid.cli.info import report
from pellucid.cli.slices import save
from pellucid.conversion.convert import convert, pyramid
from pellucid.rendering.automatic import automatic_scene
from pellucid.rendering.renderer import Renderer
from pellucid.volume.sample import sample
from pellucid.volume.volume import Volume


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("demo", help="make a sample, convert it to a pyramid, look at it")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the results")
    parser.add_argument("--edge", type=count_argument, default=256, help="voxels along each axis of the sample")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    scan, levels = folder / "sample.h5", folder / "sample.zarr"
    slices, picture = folder / "slices.png", folder / "picture.png"
    made = Volume.from_array(sample(options.edge), spacing=(0.65, 0.65, 0.65), unit="um")
    convert(made, scan, overwrite=True).close()
    with pyramid(scan, levels, overwrite=True) as volume:
        report(volume.location, with_statistics=True)
        save(volume, slices)
        Renderer().render(automatic_scene(volume), 960, 720).save(picture)
    print(f"\n{scan}: the sample\n{levels}: with coarser levels\n{slices}: its three middle slices\n{picture}: lit")
    return 0
