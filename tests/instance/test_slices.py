"""Slices of a viewer: a page gets those that it has room for, at their pixels, and no more than it paints."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.formats.protocol import Voxels
from pellucid.instance.access.guest_limits import MAX_GUEST_SLICE_PIXELS
from pellucid.instance.scene import slice_views
from pellucid.instance.scene.slice_plans import plan_slice
from pellucid.instance.server import Instance
from pellucid.rendering.labels import LabelColor, Labels
from pellucid.rendering.scene import SliceLayer
from pellucid.volume.sample_volume import sample
from pellucid.workers.protocol import requests
from tests.instance.conftest import EDGE
from tests.instance.loopback import Page, Shown, http, open_page
from tests.waiting import wait_until

VOXEL = (5, 6, 7)
VOXELS = sample(EDGE)


@pytest.fixture
def page(instance: Instance) -> Iterator[Page]:
    """A page with a cross-hair, and no slices yet."""
    with open_page(instance) as page:
        page.say("slices", voxel=VOXEL)
        yield page
        page.say("slices", voxel=None)


def show(page: Page, *views: dict[str, object]) -> None:
    page.say("show_slices", views=list(views))


def view(axis: str, width: int = EDGE, height: int = EDGE, **more: object) -> dict[str, object]:
    return {"axis": axis, "width": width, "height": height, **more}


def exact(page: Page, axis: str) -> Shown:
    """The next exact image of a slice."""
    while True:
        shown = page.hear_picture("slice")
        if shown.header["axis"] == axis and shown.header["is_exact"]:
            return shown


def test_a_page_gets_the_part_that_it_shows_a_pixel_for_each_voxel(page: Page) -> None:
    page.patch("volumes", 0, "slice_options", 0, value={"window": [0.0, 65535.0]})
    page.hear_text("state")
    show(page, view("z", 6, 4, region=[0.25, 0.5, 0.5, 0.5 + 4 / EDGE]))
    shown = exact(page, "z")
    assert shown.rgb.shape == (4, 6) and shown.header["region"] == [0.25, 0.5, 0.5, 0.5 + 4 / EDGE]
    part = VOXELS[VOXEL[0], 12:16, 6:12] / 65535 * 255
    np.testing.assert_allclose(shown.rgb, part, atol=0.6)
    # Where all of it lies: from voxel face to voxel face.
    assert shown.header["place"]["origin"] == [-0.5, -0.5, VOXEL[0]]
    assert shown.header["place"]["right"] == [EDGE, 0, 0] and shown.header["place"]["down"] == [0, EDGE, 0]
    page.say("probe_slice", axis="z", x=(9 + 0.5) / EDGE, y=(14 + 0.5) / EDGE, request="here")
    hit = page.hear_text("probe_result")["hit"]
    assert hit["voxel"] == [VOXEL[0], 14, 9] and hit["value"] == VOXELS[VOXEL[0], 14, 9]
    page.patch("volumes", 0, "slice_options", 0, value={})
    page.hear_text("state")


def test_a_slab_is_the_mean_or_the_largest_of_several_slices(page: Page) -> None:
    for projection, reduced in (("max", np.max), ("mean", np.mean), ("min", np.min)):
        options = {"window": [0.0, 65535.0], "thickness": 3, "projection": projection}
        page.patch("volumes", 0, "slice_options", 1, value=options)
        page.hear_text("state")
        show(page, view("y"))
        expected = reduced(VOXELS[:, VOXEL[1] - 1 : VOXEL[1] + 2].astype(float), axis=1)
        np.testing.assert_allclose(exact(page, "y").rgb, expected / 65535 * 255, atol=0.6)
        show(page)
    page.patch("volumes", 0, "slice_options", 1, value={})
    page.hear_text("state")


def test_labels_are_on_top_of_a_slice(page: Page, instance: Instance, folder: Path) -> None:
    with http(instance) as client:
        client.post("/api/load", json={"path": str(folder / "labels.npy"), "how": "labels"})
        page.hear_text("state")
        labels = Labels(0.5, (LabelColor(1, (1.0, 0.0, 0.0), 1.0),))
        page.patch("volumes", 1, "labels", value=asdict(labels))
        page.hear_text("state")
        show(page, view("x"))
        shown, is_label = exact(page, "x").rgb, VOXELS[:, :, VOXEL[2]] > 20_000
        assert is_label.any() and (shown[is_label] == (255, 0, 0)).all()
        assert (shown[~is_label] == shown[~is_label][:, :1]).all()
        client.patch("/api/scene", json={"changes": [{"path": ["volumes", 1, "is_visible"], "value": False}]})
        assert exact(page, "x").rgb.ndim == 2
        client.patch("/api/scene", json={"changes": [{"path": ["volumes", 1], "value": None}]})


def test_an_oblique_slice_follows_its_plane(page: Page) -> None:
    source = page.scene.volumes[0].source
    plane = SliceLayer(source, (11.5, 11.5, 8.0), (0.0, 0.0, 1.0))
    page.patch("slices", 0, value=asdict(plane))
    page.hear_text("state")
    show(page, view("oblique", 48, 48))
    shown = exact(page, "oblique")
    assert shown.header["index"] == -1
    place = shown.header["place"]
    np.testing.assert_allclose(np.add(place["origin"], np.add(place["right"], place["down"]) / 2), (11.5, 11.5, 8.0))
    page.patch("slices", 0, "point", value=[11.5, 11.5, 12.0])
    moved = exact(page, "oblique")
    assert moved.header["place"]["origin"][2] == pytest.approx(12.0) and (moved.rgb != shown.rgb).any()
    page.patch("slices", 0, value=None)
    page.hear_text("state")


def zoomed(voxels: Voxels) -> Voxels:
    """What lies between the voxels of a slice, too, to its faces: 25 values along each edge of one."""
    at = (np.arange(EDGE * 25) + 0.5) / 25 - 0.5
    columns = np.array([np.interp(at, np.arange(EDGE), row) for row in voxels])
    return np.array([np.interp(at, np.arange(EDGE), column) for column in columns.T])


def test_an_oblique_slice_has_a_window_of_the_values_where_it_is_cut(page: Page, instance: Instance) -> None:
    """A plane across z, through a layer of voxels, and between two layers."""
    plane = SliceLayer(page.scene.volumes[0].source, (11.5, 11.5, 8.0), (0.0, 0.0, 1.0))
    asked = {"axis": "oblique", "percents": [1, 99]}
    with http(instance) as client:
        assert client.post("/api/slices/window", json=asked).json()["what"] == "The scene has no oblique slice."
        for z, values in ((8.0, VOXELS[8]), (8.5, (VOXELS[8].astype(float) + VOXELS[9]) / 2)):
            page.patch("slices", 0, value=asdict(replace(plane, point=(11.5, 11.5, z))))
            page.hear_text("state")
            for percents in ((1, 99), (0, 100)):
                found = client.post("/api/slices/window", json=asked | {"percents": percents}).json()
                expected = np.percentile(zoomed(values), percents)
                np.testing.assert_allclose((found["low"], found["high"]), expected, rtol=0.01)
        refused = client.post("/api/slices/window", json={"axis": "x"}).json()
        assert refused["what"] == "The request does not say which slice across x."
    page.patch("slices", 0, value=None)
    page.hear_text("state")


def test_a_large_image_is_rough_while_something_moves_and_exact_at_rest(page: Page) -> None:
    show(page, view("z", 700, 600))
    rough = page.hear_picture("slice")
    assert (rough.header["is_exact"], rough.header["encoding"]) == (False, "jpeg")
    shown = exact(page, "z")
    assert shown.header["encoding"] == "png" and shown.rgb.shape == (600, 700)
    assert np.abs(rough.rgb[..., 0].astype(int) - shown.rgb).mean() < 4


def test_a_page_that_paints_nothing_gets_no_more_than_two(page: Page) -> None:
    page.has_acknowledged = False
    show(page, view("z"))
    numbers = [page.hear_picture("slice").header["number"]]
    for index in (8, 9, 10, 11):
        page.say("slices", voxel=[index, 6, 7])
        page.say("probe_slice", axis="z", x=0.5, y=0.5)
        while not isinstance(heard := page.hear(), dict) or heard["type"] != "probe_result":
            numbers += [heard.header["number"]] if isinstance(heard, Shown) else []
    assert len(numbers) == 2
    page.say("acknowledge_slice", axis="z", number=numbers[0])
    assert page.hear_picture("slice").header["index"] == 11
    page.has_acknowledged = True


def test_a_guest_sees_the_slices_of_the_owner_and_no_others(instance: Instance, page: Page) -> None:
    with open_page(instance, "view") as guest:
        show(guest, view("y", 30, 20))
        assert exact(guest, "y").rgb.shape == (20, 30)
        guest.say("slices", voxel=[1, 1, 1])
        assert "another link" in guest.hear_text("error")["remedy"]
        page.say("slices", voxel=[5, 9, 7])
        assert exact(guest, "y").header["index"] == 9
        page.say("slices", voxel=None)
        while guest.hear_text("cross_hair")["voxel"] is not None:
            pass
        guest.say("probe_slice", axis="y", x=0.5, y=0.5)
        assert guest.hear_text("probe_result")["hit"] is None


def test_slices_of_guests_are_smaller_and_wait_and_the_owners_do_not_wait_for_them(
    instance: Instance, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, held = instance.session.worker, list[tuple[str, requests.DrawSlice, Future[Any]]]()
    send_request = worker.send_request

    def record(what: str, build: Callable[[int], Any]) -> "Future[Any]":
        content = build(-1)
        if isinstance(content, requests.DrawSlice) and content.is_for_guest:
            held.append((what, content, Future()))
            return held[-1][2]
        return send_request(what, build)

    widths = list[int]()

    def record_width(scene: Any, cut: Any, view: Any, catalogue: Any) -> Any:
        widths.append(view.width)
        return plan_slice(scene, cut, view, catalogue)

    monkeypatch.setattr(worker, "send_request", record)
    with open_page(instance, "view") as guest, open_page(instance, "view") as other:
        for one in (guest, other):
            show(one, view("y", 4096, 4096), view("x", 4096, 4096))
        wait_until(lambda: held)
        monkeypatch.setattr(slice_views, "plan_slice", record_width)
        for height in range(5):
            show(other, view("z", 999, 1000 + height))
        show(page, view("x", 31, 17))
        assert exact(page, "x").rgb.shape == (17, 31)
        assert set(widths) == {31}  # What there is no room for is not planned, however often it is asked for.
        image = held[0][1].image
        assert len(held) == 1 and image.width * image.height <= MAX_GUEST_SLICE_PIXELS
    held[0][2].cancel()


def test_slices_of_a_compared_scene_lie_at_the_same_place_of_the_world(page: Page) -> None:
    page.patch("volumes", 0, "slice_options", 0, value={"window": [0.0, 65535.0]})
    page.hear_text("state")
    page.say("compare", is_on=True)
    page.hear_text("state")
    page.patch("volumes", 0, "transform", "translation", value=[3.0, 0.0, 2.0])
    page.hear_text("state")
    show(page, view("z"), view("z", view="other"))
    main, other = exact_of_both(page)
    grey = VOXELS / 65535 * 255
    np.testing.assert_allclose(main.rgb, grey[VOXEL[0]], atol=0.6)
    assert (main.header["index"], other.header["index"]) == (VOXEL[0], VOXEL[0] + 2)
    assert other.header["region"] == main.header["region"] == [0, 0, 1, 1]
    np.testing.assert_allclose(other.rgb[:, :-3], grey[VOXEL[0] + 2, :, 3:], atol=0.6)
    assert (other.rgb[:, -3:] == 0).all()
    page.patch("volumes", 0, "transform", "translation", value=[0.0, 0.0, float(EDGE)])
    main, other = exact_of_both(page)
    assert other.header["index"] == -1 and (other.rgb == 0).all()
    page.say("compare", is_on=False)
    page.patch("volumes", 0, "transform", "translation", value=[0.0, 0.0, 0.0])
    page.patch("volumes", 0, "slice_options", 0, value={})


def exact_of_both(page: Page) -> tuple[Shown, Shown]:
    """The next exact images across z of a scene and of the one that it is compared with, of one revision."""
    found: dict[str, Shown] = {}
    while len({shown.header["revision"] for shown in found.values()}) != 1 or len(found) < 2:
        shown = page.hear_picture("slice")
        if shown.header["axis"] == "z" and shown.header["is_exact"]:
            found[shown.header["view"]] = shown
            page.say("acknowledge_slice", axis="z", number=shown.header["number"], view=shown.header["view"])
    return found["main"], found["other"]
