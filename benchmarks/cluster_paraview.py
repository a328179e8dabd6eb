"""How long does a frame of a volume in blocks take, beside ParaView with as many processes?

    python -m benchmarks.cluster_paraview [--quick] [--json FILE]

Two Device Workers on this machine against ``mpirun -n 2 pvbatch``: the same volume in uint8 with the same transfer
function, shaded, all of it in the image. ParaView's software ray caster ("Ray Cast Only") and its choice on OpenGL
("Smart", on Mesa without a GPU). Debian: ``apt-get install python3-paraview openmpi-bin xvfb libgl1-mesa-dri``; Xvfb is
the screen that Debian's ParaView needs.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.cluster import _blocks, _frame, workers
from benchmarks.sample_scans import enlarged
from benchmarks.table import Row, interleave, options, report, shorter, unavailable
from pellucid.cluster.images.frames import ImagePlan
from pellucid.formats.protocol import Voxels
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.scene import Scene
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import Volume

MODES = ("Ray Cast Only", "Smart")
PROGRAMS = ("mpirun", "pvbatch", "xvfb-run")
PEER = Path(__file__).with_name("pvbatch_frames.py")
PROCESSES = 2
REPEATS = 3
TIMEOUT_S = 120
"""Of all sizes in one mode; those after that are left out by name."""


def main() -> None:
    given = options(__doc__ or "")
    edge, sizes = (64, (256,)) if given.is_quick else (512, (512, 1024, 2048, 4096))
    whole = enlarged((sample(edge // 2) >> 8).astype(np.uint8), 2)
    scene = automatic_scene(Volume.from_array(whole))
    peers = {mode: paraview(whole, scene, sizes, mode) for mode in MODES}
    rows = []
    with workers(40 * edge**3 + 64 * 20 * max(sizes) ** 2) as group:
        blocks = _blocks(group, whole)
        for size in sizes:
            plan = ImagePlan(scene, size, size, whole.shape)
            ours = interleave({"ours": lambda plan=plan: _frame(blocks, plan)}, REPEATS)["ours"]  # type: ignore[misc]
            case = f"frame of {edge}³ in 8 blocks, {size}²"
            rows += [row(case, ours, f"ParaView, {mode}", found, size) for mode, found in peers.items()]
    report("cluster_paraview", rows, f"{edge}³ uint8, two Workers and two processes of pvbatch", given)


def row(case: str, ours: float, peer: str, found: "dict[int, float] | str", size: int) -> Row:
    if isinstance(found, str):
        return unavailable(case, peer, found)
    return shorter(case, "s", ours, peer, found[size]) if size in found else unavailable(case, peer, "it took too long")


def paraview(whole: Voxels, scene: Scene, sizes: Sequence[int], mode: str) -> "dict[int, float] | str":
    """Median seconds by size; or why there are none."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "volume.raw"
        whole.tofile(path)
        written = Path(folder) / "job.json"
        written.write_text(json.dumps(job_of(whole, scene, sizes) | {"path": str(path), "mode": mode}))
        command = [
            "xvfb-run", "--auto-servernum", "mpirun", "--timeout", str(TIMEOUT_S),
            "--allow-run-as-root", "--oversubscribe", "-n", str(PROCESSES),
            "pvbatch", "--force-offscreen-rendering", str(PEER), str(written),
        ]  # fmt: skip
        output = output_of(command)
    lines = [json.loads(line) for line in re.findall(r'^\{"size".*\}$', output, re.MULTILINE)]
    return {one["size"]: median(one["seconds"]) for one in lines} or "it failed"


def job_of(whole: Voxels, scene: Scene, sizes: Sequence[int]) -> dict[str, Any]:
    (layer,) = scene.volumes
    low, high = layer.transfer.value_range
    colors = [x for at, rgb in layer.transfer.colors for x in (low + at * (high - low), *rgb)]
    opacities = [x for at, one in layer.transfer.opacities for x in (low + at * (high - low), one, 0.5, 0.0)]
    return {
        "shape": whole.shape, "spacing": (1.0, 1.0, 1.0), "colors": colors, "opacities": opacities,
        "is_shaded": layer.shading != "none", "sizes": list(sizes), "repeats": REPEATS,
    }  # fmt: skip


def output_of(command: Sequence[str]) -> str:
    """What it printed, also if it took too long: sizes come in turn. mpirun itself ends its processes."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=clean).stdout


if __name__ == "__main__":
    main()
