"""Frames of a volume by ParaView, for cluster_paraview: run by pvbatch, as one of several processes.

    mpirun -n 2 pvbatch pvbatch_frames.py JOB.json

Here: the volume, its transfer function and the camera as the job says; the seconds of each frame, as JSON on a line.
Not here: who runs it, and the table (cluster_paraview). ParaView's Python has none of our modules.
"""

# mypy: ignore-errors

import json
import sys
import time
from pathlib import Path

from paraview import simple

ROUND = 1e-4
"""How much the camera moves from frame to frame: ParaView does not draw again what has not changed."""
MAX_REPEATED = 1024
"""Larger images take seconds, and are measured once."""


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    depth, height, width = job["shape"]
    volume = simple.ImageReader(
        FileNames=[job["path"]], DataScalarType="unsigned char", DataByteOrder="LittleEndian", FileDimensionality=3,
        DataExtent=[0, width - 1, 0, height - 1, 0, depth - 1], FileLowerLeft=1, DataSpacing=job["spacing"],
    )  # fmt: skip
    view = simple.CreateView("RenderView")
    view.OrientationAxesVisibility = 0
    shown = simple.Show(volume, view)
    shown.SetRepresentationType("Volume")
    simple.ColorBy(shown, ("POINTS", "ImageFile"))
    colors, opacities = simple.GetColorTransferFunction("ImageFile"), simple.GetOpacityTransferFunction("ImageFile")
    colors.RGBPoints, colors.ColorSpace = job["colors"], "RGB"
    opacities.Points = job["opacities"]
    shown.VolumeRenderingMode, shown.Shade = job["mode"], int(job["is_shaded"])
    for size in job["sizes"]:
        view.ViewSize = [size, size]
        simple.ResetCamera(view)
        taken = [frame_s(view) for _ in range(1 + (job["repeats"] if size <= MAX_REPEATED else 1))][1:]
        print(json.dumps({"size": size, "seconds": taken}), flush=True)


def frame_s(view) -> float:
    view.CameraPosition = [at + ROUND for at in view.CameraPosition]
    start = time.perf_counter()
    simple.Render(view)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
