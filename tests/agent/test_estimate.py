"""What a volume takes, and what is refused early."""

from dataclasses import replace

import pytest

from pellucid.agent.jobs import estimate as estimate_module
from pellucid.agent.jobs.estimate import estimate, refuse_impossible, volume_bytes
from pellucid.agent.jobs.requests import Overrides, TaskRequest, ViewerRequest
from pellucid.errors import InvalidInput, NotAllowed, NotEnoughMemory
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import NodeSpec, Site

NODE = NodeSpec(gpus=4, gpu_memory_bytes=80 * 2**30, memory_bytes=512 * 2**30)
SLURM = Site("slurm", node=NODE)


@pytest.mark.parametrize(
    ("shape", "dtype", "gpus"),
    [((64, 64, 64), "uint8", 1), ((2048, 2048, 2048), "float32", 1), ((3072, 3072, 3072), "float32", 2),
     ((4096, 4096, 4096), "float32", 4)],
)  # fmt: skip
def test_gpus_follow_from_shape_and_type(shape: tuple[int, int, int], dtype: str, gpus: int) -> None:
    wanted = estimate(volume_bytes(shape, dtype), SLURM)
    assert wanted.gpus == gpus
    assert wanted.memory_bytes == volume_bytes(shape, dtype) + 4 * 2**30


def test_without_a_description_of_nodes_one_gpu_is_asked_for() -> None:
    assert estimate(10**12, Site("slurm")).gpus == 1


def test_what_no_node_has_is_refused() -> None:
    with pytest.raises(InvalidInput, match="8 GPUs were requested, but a node has 4"):
        refuse_impossible(Resources(gpus=8), SLURM)
    with pytest.raises(NotEnoughMemory, match=r"600.0 GiB needed, 512.0 GiB available"):
        refuse_impossible(Resources(memory_bytes=600 * 2**30), SLURM)


@pytest.mark.parametrize(("shape", "dtype"), [((1, 2), "uint8"), ((0, 1, 1), "uint8"), ((1, 1, 1), "voxels")])
def test_what_is_no_volume_is_refused(shape: tuple[int, ...], dtype: str) -> None:
    with pytest.raises(InvalidInput):
        volume_bytes(shape, dtype)


def test_what_is_asked_for_wins_over_the_estimate() -> None:
    site = Site("slurm", time_limit_minutes=90, node=NODE)
    request = ViewerRequest(gpus=3, shape=(8, 8, 8), memory_bytes=2**30, cores=5)
    assert request.resources(site) == Resources(2**30, cores=5, gpus=3, minutes=90)
    assert ViewerRequest().resources(site).gpus == 1


@pytest.mark.parametrize(("here", "gpus"), [(0, 0), (1, 1), (4, 1)])
def test_of_this_machine_only_gpus_are_reported_that_it_has(
    here: int, gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate_module, "count_gpus", lambda: here)
    for site in (Site(), Site(node=replace(NODE, gpu_memory_bytes=0))):
        assert estimate(8**3, site).gpus == gpus
        assert ViewerRequest(shape=(8, 8, 8)).resources(site).gpus == gpus
        assert ViewerRequest().resources(site).gpus == gpus
        assert ViewerRequest(gpus=0, shape=(8, 8, 8)).resources(site).gpus == 0
        with pytest.raises(InvalidInput, match=f"5 GPUs were requested, but this machine has {here}"):
            ViewerRequest(gpus=5).resources(site)


@pytest.mark.parametrize(
    ("requested", "title"),
    [
        (ViewerRequest(source="/data/scan.h5:/entry/data"), "scan"),
        (ViewerRequest(source="s3://bucket/scans/rock.zarr"), "rock"),
        (ViewerRequest(source="/data/slices/"), "slices"),
        (ViewerRequest(source="/data/scan.h5", name="mine"), "mine"),
        (ViewerRequest(scan="/data/scan.h5"), "Reconstruction of scan.h5"),
        (ViewerRequest(scan="/data/scan.h5", name="mine"), "mine"),
        (ViewerRequest(), "viewer"),
    ],
)
def test_a_viewer_is_called_like_its_file(requested: ViewerRequest, title: str) -> None:
    assert requested.title == title


def test_wishes_keep_to_what_the_site_allows() -> None:
    site = Site("slurm", may_override=("partition",))
    assert Overrides(partition="long").apply_to(site).partition == "long"
    with pytest.raises(NotAllowed):
        Overrides(options=("--uid=0",)).apply_to(site)
    with pytest.raises(InvalidInput, match="cannot run as a task"):
        TaskRequest(("doctor",), "/")
    with pytest.raises(InvalidInput, match="not an absolute path"):
        TaskRequest(("convert", "a", "b"), "data")
