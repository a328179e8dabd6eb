"""What a Worker answers, compared with the volume itself."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import choose
from pellucid.errors import InvalidInput, Unreadable
from pellucid.rendering.labels import Labels
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, Transform
from pellucid.rendering.slice_image import SliceImage, axis_rectangle
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.sample_volume import sample
from pellucid.volume.slice_planes import planes_of_axes
from pellucid.volume.volume import Volume, open_volume
from pellucid.workers.protocol import replies, requests
from pellucid.workers.queries import slices
from pellucid.workers.queries.describe import facts_of
from pellucid.workers.queries.sources import MappedArray, Sources
from pellucid.workers.supervisor import SupervisedWorker
from tests.endless_hdf5 import write_endless_texts
from tests.waiting import TIMEOUT_S
from tests.workers.conftest import EDGE, SOURCE, SPACING, Ear, small

VOXELS = sample(EDGE)


def test_the_exact_picture_is_the_renderers_own(worker: SupervisedWorker, ear: Ear, scene: Scene) -> None:
    renderer = Renderer(choose("cpu"))
    renderer.add(MappedArray(VOXELS, SPACING, "um").volume(SOURCE))
    wanted = renderer.render(scene, 48, 32).rgba
    np.testing.assert_array_equal(ear.exact(worker.draw(small(scene), 50, True)), wanted)
    np.testing.assert_array_equal(worker.screenshot(small(scene)[0]).result(TIMEOUT_S), wanted)


def test_only_the_latest_wish_is_drawn(worker: SupervisedWorker, ear: Ear, scene: Scene) -> None:
    numbers = [worker.draw((requests.ViewSpec(scene, 640, 480),), 1000, True) for _ in range(30)]
    ear.exact(numbers[-1])
    drawn = {worker.draw(small(scene), 50, True)}
    while not ear.heard.empty():
        kind, heard = ear.heard.get()
        drawn |= {heard[0].number} if kind == "picture" else set()
    assert len(drawn) < 10


def test_pictures_that_nobody_took_hold_drawing_up_but_end_nothing(
    worker: SupervisedWorker, ear: Ear, scene: Scene
) -> None:
    ear.has_released = False
    taken = []
    for _ in range(4):
        number = worker.draw(small(scene), 50, False)
        drawn, _ = ear.next("picture")
        assert drawn.number == number
        taken.append(drawn.slot)
    assert sorted(taken) == [0, 1, 2, 3]


def test_measuring_says_the_same_whether_the_device_has_the_volume_or_not(
    worker: SupervisedWorker, ear: Ear, scene: Scene
) -> None:
    question = lambda request: requests.MeasureValues(request, SOURCE)  # noqa: E731
    before = worker.send_request("measuring", question).result(TIMEOUT_S)
    ear.exact(worker.draw(small(scene), 50, True))
    after = worker.send_request("measuring", question).result(TIMEOUT_S)
    assert (before.low, before.high) == (VOXELS.min(), VOXELS.max())
    assert replace(after, request=0) == replace(before, request=0)


def test_describing_says_what_the_volume_is(worker: SupervisedWorker) -> None:
    reply = worker.send_request("describing", lambda request: requests.Describe(request, SOURCE)).result(TIMEOUT_S)
    facts = reply.facts
    assert (facts.shape, facts.spacing, facts.unit, facts.dtype) == (VOXELS.shape, SPACING, "um", VOXELS.dtype.name)
    assert (facts.low, facts.high, sum(facts.counts)) == (VOXELS.min(), VOXELS.max(), VOXELS.size)
    assert reply.volume.source == SOURCE and reply.volume.labels is None


def test_a_histogram_leaves_a_hot_voxel_out() -> None:
    voxels = np.random.default_rng(1).normal(0, 1, (32, 32, 32)).astype(np.float32)
    voxels[1, 2, 3] = 1e6
    facts = facts_of(Volume.from_array(voxels))
    assert -10 < facts.low < facts.high < 10
    assert sum(facts.counts) > 0.99 * voxels.size and max(facts.counts) < 0.05 * voxels.size


def test_a_probe_finds_the_voxel_that_is_seen(worker: SupervisedWorker, ear: Ear, scene: Scene) -> None:
    ear.exact(worker.draw(small(scene), 50, True))
    hit = worker.send_request("probing", lambda request: requests.ProbePixel(request, 0, 0.5, 0.5)).result(TIMEOUT_S)
    assert hit.layer == 0 and hit.value == VOXELS[hit.voxel]
    z, y, x = (index * spacing for index, spacing in zip(hit.voxel, SPACING, strict=True))
    np.testing.assert_allclose(hit.position, (x, y, z), atol=max(SPACING) / 2 + 1e-6)
    miss = worker.send_request("probing", lambda request: requests.ProbePixel(request, 0, 0.0, 0.0)).result(TIMEOUT_S)
    assert miss.position is None


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_slice_has_the_colours_of_its_voxels(axis: int, worker: SupervisedWorker, scene: Scene) -> None:
    layer, voxels = scene.volumes[0], np.take(VOXELS, 7, axis)
    plane, grid = planes_of_axes()[axis], Volume.from_array(VOXELS, SPACING)
    image = SliceImage(axis_rectangle(plane, 7, grid, layer.transform), EDGE, EDGE)
    command = lambda request: requests.DrawSlice(request, (layer,), image)  # noqa: E731
    answer, shared = worker.send_request("cutting", command).result(TIMEOUT_S)
    assert answer.is_complete
    with shared:
        colors = layer.transfer.table(1.0)[layer.transfer.index(plane.image(voxels)), :3]
        np.testing.assert_allclose(shared.array[..., :3], colors * 255, atol=0.51)


def test_what_is_at_a_place_of_the_world_is_told(worker: SupervisedWorker, scene: Scene) -> None:
    z, y, x = SPACING
    command = lambda request: requests.ProbePosition(request, scene, (4 * x, 5 * y, 6 * z))  # noqa: E731
    hit = worker.send_request("probing", command).result(TIMEOUT_S)
    assert (hit.voxel, hit.layer, hit.value) == ((6, 5, 4), 0, VOXELS[6, 5, 4])
    command = lambda request: requests.ProbePosition(request, scene, (-9 * x, 0.0, 0.0))  # noqa: E731
    assert worker.send_request("probing", command).result(TIMEOUT_S).layer == -1


def test_percentiles_of_a_slice_are_those_of_its_voxels(worker: SupervisedWorker) -> None:
    def measured(percents: tuple[float, float], axis: int = 1, index: int = 9) -> tuple[float, float]:
        command = lambda request: requests.MeasureSlice(request, SOURCE, axis, index, percents)  # noqa: E731
        reply = worker.send_request("measuring", command).result(TIMEOUT_S)
        return reply.low, reply.high

    voxels = VOXELS[:, 9]
    assert measured((0, 100)) == (voxels.min(), voxels.max())
    assert measured((1, 99)) == pytest.approx(tuple(np.percentile(voxels, (1, 99))))
    with pytest.raises(InvalidInput, match=f"no slice {EDGE} of axis 1"):
        measured((1, 99), index=EDGE)


def test_values_that_are_not_numbers_do_not_count() -> None:
    voxels = np.full((2, 3, 4), np.nan, np.float32)
    voxels[0, 0] = (1.0, 2.0, 3.0, np.inf)
    sources = Sources(OpenFiles())
    sources.use(SOURCE, MappedArray(voxels, (1.0, 1.0, 1.0), ""))
    reply = slices.measure_slice(requests.MeasureSlice(1, SOURCE, 0, 0, (0.0, 100.0)), sources)
    assert (reply.low, reply.high) == (1.0, 3.0)
    reply = slices.measure_slice(requests.MeasureSlice(1, SOURCE, 0, 1, (0.0, 100.0)), sources)
    assert (reply.low, reply.high) == (0.0, 1.0)


def test_a_profile_follows_the_line(worker: SupervisedWorker, scene: Scene) -> None:
    (layer,) = scene.volumes
    start, stop = (0.0, 6.0, 12.0), (46.0, 6.0, 12.0)  # along x, through voxels (12, 12, 0) to (12, 12, 23)
    command = lambda request: requests.SampleLine(request, layer, start, stop, EDGE)  # noqa: E731
    reply = worker.send_request("measuring", command).result(TIMEOUT_S)
    np.testing.assert_allclose(reply.values, VOXELS[12, 12], rtol=1e-4)
    outside = lambda request: requests.SampleLine(request, layer, (-50.0, 0, 0), (-40.0, 0, 0), 2)  # noqa: E731
    assert worker.send_request("measuring", outside).result(TIMEOUT_S).values == (None, None)


def test_a_box_comes_back_as_it_is(worker: SupervisedWorker) -> None:
    box = Box((1, 2, 3), (5, 7, 11))
    command = lambda request: requests.Retrieve(request, SOURCE, box)  # noqa: E731
    reply, shared = worker.send_request("retrieving", command).result(TIMEOUT_S)
    with shared:
        assert reply.spacing == SPACING
        np.testing.assert_array_equal(shared.array, VOXELS[box.slices])


def test_an_export_can_be_opened(worker: SupervisedWorker, ear: Ear, tmp_path: Path) -> None:
    box, target = Box((0, 0, 0), (8, 8, 8)), tmp_path / "part.nrrd"
    command = lambda request: requests.Export(request, SOURCE, box, str(target))  # noqa: E731
    worker.send_request("exporting", command).result(TIMEOUT_S)
    assert ear.next("progress").request >= 0
    with open_volume(target) as volume:
        np.testing.assert_array_equal(volume.read(), VOXELS[box.slices])
        assert volume.spacing == SPACING


def test_inspecting_reads_no_voxel(worker: SupervisedWorker, tmp_path: Path) -> None:
    np.save(tmp_path / "ball.npy", VOXELS)
    np.save(tmp_path / "points.npy", np.ones((5, 4)))
    (tmp_path / "note.npy").write_text("hello")

    def inspected(name: str) -> replies.Inspected:
        source = str(tmp_path / name)
        answer = worker.send_request("looking", lambda request: requests.Inspect(request, source)).result(TIMEOUT_S)
        assert isinstance(answer, replies.Inspected)
        return answer

    assert inspected("ball.npy").shape == VOXELS.shape
    assert inspected("note.npy").shape is None and inspected("note.npy").problem
    assert inspected("points.npy").shape is None and inspected("points.npy").problem == ""


def test_a_slice_outside_is_refused(worker: SupervisedWorker) -> None:
    command = lambda request: requests.MeasureSlice(request, SOURCE, 0, EDGE, (1.0, 99.0))  # noqa: E731
    with pytest.raises(InvalidInput, match=f"no slice {EDGE}"):
        worker.send_request("cutting", command).result(TIMEOUT_S)


def test_of_a_series_the_step_that_is_shown_is_read(worker: SupervisedWorker, tmp_path: Path) -> None:
    import tifffile

    steps = np.stack([VOXELS, VOXELS[::-1]])
    tifffile.imwrite(tmp_path / "two.ome.tif", steps, metadata={"axes": "TZYX"})
    source = str(tmp_path / "two.ome.tif")
    for time, wanted in ((0.0, VOXELS), (1.2, VOXELS[::-1]), (9.0, VOXELS[::-1])):
        command = lambda request, time=time: requests.Retrieve(request, source, None, time)  # noqa: E731
        _, shared = worker.send_request("retrieving", command).result(TIMEOUT_S)
        with shared:
            np.testing.assert_array_equal(shared.array, wanted)


def test_at_half_steps_image_probe_and_export_are_of_one_step(
    worker: SupervisedWorker, ear: Ear, scene: Scene, tmp_path: Path
) -> None:
    values = np.array([40, 90, 140, 190], np.uint8)
    np.save(tmp_path / "steps.npy", np.broadcast_to(values[:, None, None, None], (4, *VOXELS.shape)))
    source, (layer,) = str(tmp_path / "steps.npy"), scene.volumes
    transfer = TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, 255.0))
    flat = replace(layer, source=source, transfer=transfer, shading="none", transform=Transform((2.0, 0.5, 1.0)))
    for time, wanted in ((0.49, 40), (0.5, 90), (1.5, 140), (2.5, 190), (3.5, 190)):
        pixels = ear.exact(worker.draw(small(replace(scene, volumes=(flat,), time=time)), 50, True))
        assert int(pixels[16, 24, 0]) == pytest.approx(wanted, abs=1)
        probe = lambda request: requests.ProbePixel(request, 0, 0.5, 0.5)  # noqa: E731
        assert worker.send_request("probing", probe).result(TIMEOUT_S).value == wanted
        target = str(tmp_path / f"at-{time}.nrrd")
        export = lambda request, time=time, to=target: requests.Export(request, source, None, to, time)  # noqa: E731
        worker.send_request("exporting", export).result(TIMEOUT_S)
        with open_volume(target) as exported:
            assert exported.value_range == (wanted, wanted)


def test_a_label_under_the_pointer_is_named_beside_the_value(
    worker: SupervisedWorker, ear: Ear, scene: Scene, tmp_path: Path
) -> None:
    np.save(tmp_path / "labels.npy", np.full(VOXELS.shape, 7, np.uint8))
    (layer,) = scene.volumes
    inside = replace(layer, source=str(tmp_path / "labels.npy"), labels=Labels(), transform=Transform((2.0, 0.5, 1.0)))
    ear.exact(worker.draw(small(replace(scene, volumes=(layer, inside))), 50, True))
    hit = worker.send_request("probing", lambda request: requests.ProbePixel(request, 0, 0.5, 0.5)).result(TIMEOUT_S)
    assert (hit.layer, hit.label) == (0, 7) and hit.value == VOXELS[hit.voxel]


def test_inspecting_an_endless_file_ends(
    monkeypatch: pytest.MonkeyPatch, ear: Ear, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Without a limit, the library would keep Python's lock until the Worker is killed."""
    monkeypatch.setenv("PELLUCID_OPEN_TIMEOUT_S", "1")
    worker: SupervisedWorker = request.getfixturevalue("worker")
    source = str(write_endless_texts(tmp_path / "a.h5"))
    pid = worker.pid
    answer = worker.send_request("looking", lambda number: requests.Inspect(number, source))
    with pytest.raises(Unreadable, match="opening it took longer than 1 s"):
        answer.result(TIMEOUT_S)
    assert worker.pid == pid
