"""How soon does a viewer show what a network finds, and how soon all of it?

    python -m benchmarks.learn_viewer [--quick] [--json FILE] [--network FILE]

A volume of 512² slices with bright blobs, sent to a new viewer; then the time from ``apply_network`` until the viewer
has labels of the first slice, and, on a GPU, of all 512 slices. The first network also starts the process that runs
networks; the second one finds it there. Without FILE: the trained 2D network of the shared data, or else one of the
same kind with random weights.
"""

import argparse
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from benchmarks.entry_points import with_entry_points
from benchmarks.table import TARGET, Options, Row, report
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer
from pellucid.device import devices
from pellucid.formats.protocol import Voxels

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
TRAINED = "networks/unet2d_nuclei.onnx"
EDGE = 512
VIEWER_PACKAGES = (
    *("PIL", "constriction", "fastapi", "h5py", "imagecodecs", "numpy", "opentelemetry", "pydantic", "scipy"),
    *("starlette", "tifffile", "uvicorn", "warp", "websockets", "xxhash"),
)
TIMEOUT_S = 280.0
POLL_S = 0.005


def main() -> None:
    parser = argparse.ArgumentParser(description="Labels of a network in a viewer.")
    parser.add_argument("--quick", action="store_true", help="a few slices")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--network", type=Path, metavar="FILE", help="an ONNX file or its folder")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="with networks/unet2d_nuclei.onnx")
    given = parser.parse_args()
    check_packages()
    has_card = any(device.is_cuda for device in devices())
    depth = 8 if given.quick or not has_card else EDGE
    with tempfile.TemporaryDirectory() as folder:
        with_entry_points(Path(folder) / "site")
        network, options = network_and_options(given.network, given.data, Path(folder))
        viewer = start()
        try:
            rows = measured(viewer, network, options, depth, is_whole=has_card)
        finally:
            viewer.shutdown()
    size = f"{depth} × {EDGE}² uint8, {network.name}"
    report("learn_viewer", rows, size, Options(given.quick, given.json))


def check_packages() -> None:
    """All that are missing are named at once."""
    if missing := [name for name in VIEWER_PACKAGES if find_spec(name) is None]:
        sys.exit(f"A viewer needs packages that are not installed: {', '.join(missing)}.")


def network_and_options(given: Path | None, data: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """What a bare ONNX file does not state is passed along."""
    if given is not None:
        return given, {}
    if (data / TRAINED).exists():
        return data / TRAINED, {"preprocess": ["zero_mean_unit_variance"], "postprocess": ["sigmoid"]}
    from benchmarks.learn_speed import network_of

    network_of(folder / "random")
    return folder / "random", {}


def blobs(depth: int) -> Voxels:
    """Bright blobs, a tenth of the volume, in noise."""
    random = np.random.default_rng(0)
    one = ndimage.gaussian_filter(random.standard_normal((8, EDGE, EDGE), np.float32), (1, 8, 8))
    slices = np.where(one > np.quantile(one, 0.9), 200, 20) + random.normal(0, 8, one.shape)
    return np.concatenate([slices.clip(0, 255).astype(np.uint8)] * (depth // 8))


def measured(viewer: Viewer, network: Path, options: dict[str, Any], depth: int, *, is_whole: bool) -> list[Row]:
    viewer.render_volume(blobs(depth))
    viewer.screenshot(320, 180)
    rows = []
    for run in ("first network", "second network"):
        first, whole = seconds_until_labels(viewer, network, options, is_whole=is_whole)
        goal = "" if is_whole else f" ({TARGET}: 1 on two cores)"
        rows.append(Row(run, f"until labels of a slice{goal}", "s", first, "-", None, None))
        if whole is not None:
            rows.append(Row(run, f"until labels of all {depth} slices ({TARGET}: 5)", "s", whole, "-", None, None))
    return rows


def seconds_until_labels(
    viewer: Viewer, network: Path, options: dict[str, Any], *, is_whole: bool
) -> tuple[float, float | None]:
    begin = time.perf_counter()
    applied = viewer.apply_network(network, **options)
    while applied.is_running and applied.progress == 0.0:
        time.sleep(POLL_S)
        if time.perf_counter() - begin > TIMEOUT_S:
            raise TimeoutError("no labels")
    first = time.perf_counter() - begin
    whole = None
    if is_whole:
        applied.wait(TIMEOUT_S)
        whole = time.perf_counter() - begin
    else:
        applied.stop()
        with suppress(Exception):
            applied.wait(TIMEOUT_S)
    labels = viewer.retrieve_volume(layer=applied.layer)
    share = float((labels > 0).any(axis=(1, 2)).mean())
    print(f"{network.name}: first {first:.3f} s, whole {whole}; slices with labels: {share:.0%}", flush=True)
    return first, whole


if __name__ == "__main__":
    main()
