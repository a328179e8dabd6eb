"""``pellucid mesh``: save an isosurface of a volume as a mesh file.

Here: the command.
Not here: marching cubes (rendering.geometry.isosurfaces), the formats (rendering.geometry.mesh_files).
"""

import argparse
from pathlib import Path

from pellucid.box import Box
from pellucid.cli.arguments import add_source, number_argument, source_location
from pellucid.errors import OutputExists
from pellucid.rendering.geometry.isosurfaces import save_isosurface
from pellucid.volume.volume import open_volume


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("mesh", help="save an isosurface as a mesh: PLY, OBJ, STL or VTP")
    add_source(parser)
    parser.add_argument("--isovalue", type=number_argument, required=True, help="value of the isosurface")
    parser.add_argument("-o", "--output", type=Path, required=True, help="output file: .ply, .obj, .stl or .vtp")
    parser.add_argument("--box", metavar="Z0:Z1,Y0:Y1,X0:X1", help="use only this box of voxels")
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.output.exists() and not options.overwrite:
        raise OutputExists(str(options.output))
    with open_volume(source_location(options)) as volume:
        box = Box.parse(options.box, volume.shape) if options.box else None
        vertices, triangles = save_isosurface(volume, options.isovalue, options.output, box)
    print(f"wrote {options.output} ({vertices:,} vertices, {triangles:,} triangles)")
    return 0
