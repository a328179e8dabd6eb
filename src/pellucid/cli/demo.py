"""``pellucid demo``: the main job from end to end, on a sample that it makes itself.

Here: the steps, in the words a person would use.
Not here: the steps' work.
"""

import argparse
from pathlib import Path

from pellucid.cli.arguments import count_argument
from pellucid.cli.info import report
from pellucid.cli.slices import save
from pellucid.cli.view import add_viewer, serve
from pellucid.conversion.convert import convert, pyramid
from pellucid.volume.sample import sample
from pellucid.volume.volume import Volume


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("demo", help="make a sample, convert it to a pyramid, look at it in the browser")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the results")
    parser.add_argument("--edge", type=count_argument, default=256, help="voxels along each axis of the sample")
    parser.add_argument("--headless", action="store_true", help="take a picture in the viewer, and end")
    add_viewer(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    scan, levels, slices = folder / "sample.h5", folder / "sample.zarr", folder / "slices.png"
    made = Volume.from_array(sample(options.edge), spacing=(0.65, 0.65, 0.65), unit="um")
    convert(made, scan, overwrite=True).close()
    with pyramid(scan, levels, overwrite=True) as volume:
        report(volume.location, with_statistics=True)
        save(volume, slices)
    print(f"\n{scan}: the sample\n{levels}: with coarser levels\n{slices}: its three middle slices")
    if options.headless:
        _photograph(levels, folder / "picture.png", options.device)
    else:
        serve(str(levels.absolute()), options)
    return 0


def _photograph(source: Path, picture: Path, device: str | None) -> None:
    """What the viewer shows of it, without any browser."""
    from PIL import Image

    from pellucid.client.starting import start

    viewer = start(device=device, roots=[source.parent])
    try:
        viewer.load(source.absolute())
        Image.fromarray(viewer.screenshot(960, 720)).save(picture)
    finally:
        viewer.shutdown()
    print(f"{picture}: as the viewer shows it")
