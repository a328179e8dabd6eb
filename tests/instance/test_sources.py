"""Files and arrays: what can be opened, and what comes back."""

import io
import socket
import zipfile
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.server import Instance
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import open_volume
from pellucid.workers.channel import MessageChannel
from tests.instance.conftest import EDGE
from tests.instance.loopback import Page, as_sent, http, open_page, secret

VOXELS = sample(EDGE)


@pytest.fixture(autouse=True)
def back_to_the_ball(instance: Instance, source: str) -> None:
    with http(instance) as client:
        assert client.post("/api/load", json={"path": source}).status_code == 200


def wait_for(page: Page, task: str) -> dict[str, Any]:
    while (reply := page.hear_text("progress"))["task"] != task or reply["state"] == "running":
        pass
    return reply


def test_a_folder_is_listed_with_what_can_be_opened(instance: Instance, folder: Path) -> None:
    with http(instance) as client:
        listed = client.get("/api/files", params={"folder": str(folder)}).json()
        found = {entry["name"]: entry["kind"] for entry in listed["entries"]}
        assert found == {"below": "folder", "ball.npy": "volume", "labels.npy": "volume", "cloud.csv": "points"}
        assert (listed["parent"], listed["is_cut"]) == (None, False)
        below = client.get("/api/files", params={"folder": str(folder / "below")}).json()
        assert below["parent"] == str(folder)
        search = client.get("/api/files", params={"folder": str(folder), "search": "BALL"}).json()
        assert [entry["name"] for entry in search["entries"]] == ["ball.npy", "below/deep-ball.npy"]
        roots = client.get("/api/files").json()
        assert str(folder) in [entry["path"] for entry in roots["entries"]]


def test_undo_after_opening_brings_back_all_of_the_file_before(instance: Instance, folder: Path, source: str) -> None:
    """Scene, camera, name, shape, histogram and slices together, and forward again."""
    with http(instance) as client, open_page(instance) as page:
        first = client.get("/api/scene").json()
        turned = page.scene.camera.turned(20.0)
        page.look(turned, is_moving=False)
        page.say("slices", voxel=[20, 20, 20])
        client.post("/api/load", json={"path": str(folder / "below" / "deep-ball.npy")})
        while page.hear_text("layers")["layers"][0]["name"] != "deep-ball.npy":
            pass
        moved = page.hear_text("cross_hair")
        # By no client: the page that set it last would ignore its own.
        assert (moved["voxel"], moved["by"]) == ([7, 7, 7], "")
        second = client.get("/api/scene").json()
        page.say("undo")
        layers = page.hear_text("layers")
        state = page.hear_text("state")
        assert layers["revision"] == state["revision"] > second["revision"]
        assert layers["layers"] == first["layers"] and layers["layers"][0]["name"] == "ball.npy"
        assert state["scene"]["volumes"] == first["scene"]["volumes"]
        assert state["scene"]["camera"] == as_sent(turned)
        page.exact(state["revision"])
        page.say("redo")
        assert page.hear_text("layers")["layers"] == second["layers"]
        assert page.hear_text("state")["scene"]["camera"] == second["scene"]["camera"]
        page.say("slices", voxel=None)


def test_a_layer_that_is_taken_away_is_not_described_any_more(instance: Instance, folder: Path) -> None:
    with http(instance) as client, open_page(instance) as page:
        client.post("/api/load", json={"path": str(folder / "below" / "deep-ball.npy"), "how": "add"})
        while len(page.hear_text("layers")["layers"]) != 2:
            pass
        page.hear_text("state")
        page.patch("volumes", 0, value=None)
        assert [layer["name"] for layer in page.hear_text("layers")["layers"]] == ["deep-ball.npy"]


@pytest.mark.parametrize("step", [1, 2])
def test_labels_lie_on_a_volume_with_spacing(instance: Instance, viewer: Viewer, tmp_path: Path, step: int) -> None:
    """As an array, as a stream and as a file; at the volume's resolution, and at half of it."""
    viewer.render_volume(VOXELS, spacing=(0.1, 0.1, 0.2), unit="mm")
    labels = (VOXELS[::step, ::step, ::step] > 20_000).astype(np.uint8)
    viewer.render_volume(labels, how="labels", name="array")
    with viewer.stream(labels.shape, labels.dtype, how="labels", name="stream") as stream:
        stream.append(labels)
    np.save(tmp_path / "labels.npy", labels)
    instance.session.roots.add(tmp_path)
    viewer.render_volume(tmp_path / "labels.npy", how="labels")
    volume, *others = viewer.scene.volumes
    assert [layer.labels is not None for layer in others] == [True] * 3 and volume.labels is None
    for layer in others:
        assert layer.transform.scale == pytest.approx((0.2 * step, 0.1 * step, 0.1 * step))
        assert layer.transform.translation == pytest.approx((0.1 * (step - 1), 0.05 * (step - 1), 0.05 * (step - 1)))


def test_a_file_says_what_it_is(instance: Instance, source: str) -> None:
    with http(instance) as client:
        reply = client.get("/api/files/info", params={"path": source}).json()
        assert (reply["shape"], reply["dtype"], reply["bytes"]) == ([EDGE] * 3, "uint16", EDGE**3 * 2)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "{folder}/../outside.npy", "{folder}/link.npy", "relative.npy", "s3://bucket/scan.zarr", "\0"],
)
def test_nothing_outside_the_roots_is_opened(instance: Instance, folder: Path, path: str) -> None:
    link = folder / "link.npy"
    if not link.is_symlink():
        link.symlink_to("/etc/hostname")
    path = path.format(folder=folder)
    with http(instance) as client:
        requests = [
            client.post("/api/load", json={"path": path}),
            client.get("/api/files/info", params={"path": path}),
            client.get("/api/files", params={"folder": path}),
            client.patch("/api/scene", json={"changes": [{"path": ["volumes", 0, "source"], "value": path}]}),
        ]
    link.unlink()
    for answer in requests:
        assert answer.status_code in (403, 404), answer.text
        assert "is outside" in answer.text or "does not exist" in answer.text


@pytest.mark.parametrize(
    ("layers", "name", "status", "says"),
    [
        ("meshes", "nowhere.stl", 404, "does not exist"),
        ("meshes", "ball.npy", 400, "ball.npy is not a mesh."),
        ("meshes", "below/deep-ball.npy", 400, "deep-ball.npy is not a mesh."),
        ("points", "below/deep-ball.npy", 400, "deep-ball.npy is not points."),
        ("meshes", "notes.txt", 400, ""),
    ],
)
def test_a_scene_that_names_something_else_than_its_layers_show_is_refused(
    instance: Instance, folder: Path, layers: str, name: str, status: int, says: str
) -> None:
    change = {"path": [layers, 0], "value": {"source": str(folder / name)}}
    with http(instance) as client:
        before = client.get("/api/scene").json()
        answer = client.patch("/api/scene", json={"changes": [change]})
        assert (answer.status_code, says in answer.json()["what"]) == (status, True), answer.text
        with open_page(instance) as page:
            page.say("patch", revision=page.state["revision"], changes=[change], request="mine")
            refusal = page.hear_text("error")
        assert refusal["request"] == "mine" and says in refusal["what"]
        after = client.get("/api/scene").json()
    assert (after["revision"], after["scene"]) == (before["revision"], before["scene"])


def test_a_file_is_loaded_and_another_added(instance: Instance, folder: Path) -> None:
    with http(instance) as client, open_page(instance) as page:
        client.post("/api/load", json={"path": str(folder / "cloud.csv"), "how": "add"})
        layers = page.hear_text("layers")
        while not layers["points"]:
            layers = page.hear_text("layers")
        assert (layers["layers"][0]["name"], layers["points"][0]["count"]) == ("ball.npy", 3)
        assert sum(layers["layers"][0]["histogram"]["counts"]) == EDGE**3
        client.post("/api/load", json={"path": str(folder / "labels.npy"), "how": "labels"})
        scene = client.get("/api/scene").json()["scene"]
        assert [layer["labels"] is None for layer in scene["volumes"]] == [True, False]
        assert page.exact(client.get("/api/scene").json()["revision"]).rgb.max() > 0


def test_a_small_file_is_brought_along(instance: Instance) -> None:
    stream = io.BytesIO()
    np.save(stream, VOXELS[:5])
    with http(instance) as client:
        path = client.put("/api/upload", params={"name": "../../etc/mine.npy"}, content=stream.getvalue()).json()[
            "path"
        ]
        assert Path(path).name == "mine.npy" and Path(path).is_relative_to(instance.session.tasks.folder)
        assert client.post("/api/load", json={"path": path}).status_code == 200
        assert client.get("/api/scene").json()["layers"][0]["shape"] == [5, EDGE, EDGE]


def saved(voxels: Voxels) -> bytes:
    stream = io.BytesIO()
    np.save(stream, voxels)
    return stream.getvalue()


def voxels_of(client: httpx.Client, layer: int) -> Voxels:
    content = client.get("/api/volume", params={"layer": layer}).content
    voxels: Voxels = np.load(io.BytesIO(content))
    return voxels


def test_two_files_of_one_name_are_two_files(instance: Instance) -> None:
    """As they come from two folders of whoever drops them on the page: the second was shown with the first's voxels."""
    first, second = VOXELS[:5], VOXELS[3:9, ::-1]
    with http(instance) as client:
        for voxels, how in ((first, "replace"), (second, "add")):
            path = client.put("/api/upload", params={"name": "same.npy"}, content=saved(voxels)).json()["path"]
            assert client.post("/api/load", json={"path": path, "how": how}).status_code == 200
        assert [one["name"] for one in client.get("/api/scene").json()["layers"]] == ["same.npy", "same.npy"]
        np.testing.assert_array_equal(voxels_of(client, 0), first)
        np.testing.assert_array_equal(voxels_of(client, 1), second)


@pytest.mark.parametrize("is_in_place", [False, True])
def test_a_file_that_was_written_again_is_read_again(instance: Instance, folder: Path, is_in_place: bool) -> None:
    """Opened once more, it was shown with the voxels of before, and nothing said so."""
    path, later = folder / "below" / "again.npy", folder / "below" / "later.npy"
    np.save(path, VOXELS)
    with http(instance) as client, open_page(instance) as page:
        client.post("/api/load", json={"path": str(path)})
        before = page.exact(client.get("/api/scene").json()["revision"]).rgb
        np.save(path if is_in_place else later, VOXELS[: EDGE // 2])
        if not is_in_place:
            later.replace(path)
        client.post("/api/load", json={"path": str(path)})
        scene = client.get("/api/scene").json()
        assert scene["layers"][0]["shape"] == [EDGE // 2, EDGE, EDGE]
        np.testing.assert_array_equal(voxels_of(client, 0), VOXELS[: EDGE // 2])
        assert not np.array_equal(page.exact(scene["revision"]).rgb, before)
    path.unlink()


def test_an_array_comes_in_pieces_and_goes_back_in_a_box(instance: Instance) -> None:
    voxels = VOXELS[::-1].astype(np.float32)
    sent = voxels.tobytes()
    offer = {"shape": voxels.shape, "dtype": "<f4", "spacing": [2, 1, 1], "unit": "um", "name": "mine"}
    with http(instance) as client:
        place = client.post("/api/arrays", json=offer).json()
        assert place["bytes"] == len(sent)
        for start in (1000, 0):
            piece = sent[start : None if start else 1000]
            assert client.put(f"/api/arrays/{place['id']}", params={"offset": start}, content=piece).status_code == 204
        assert client.post(f"/api/arrays/{place['id']}/show").status_code == 200
        (layer,) = client.get("/api/scene").json()["layers"]
        assert (layer["name"], layer["unit"], layer["is_memory"], layer["spacing"]) == ("mine", "um", True, [2, 1, 1])
        back = client.get("/api/volume", params={"box": "1:4,:,2:9"})
        np.testing.assert_array_equal(np.load(io.BytesIO(back.content)), voxels[1:4, :, 2:9])


def test_half_an_array_is_not_shown(instance: Instance) -> None:
    with http(instance) as client:
        place = client.post("/api/arrays", json={"shape": [2, 2, 2], "dtype": "uint8"}).json()
        client.put(f"/api/arrays/{place['id']}", content=b"1234")
        answer = client.post(f"/api/arrays/{place['id']}/show")
        assert answer.status_code == 400 and "Only 4 of 8 bytes have arrived" in answer.text
        outside = client.put(f"/api/arrays/{place['id']}", params={"offset": 7}, content=b"12")
        assert outside.status_code == 400 and "outside the array" in outside.text
        assert client.post("/api/arrays", json={"shape": [2, 2, 2], "dtype": "object"}).status_code == 400
        assert client.post("/api/arrays", json={"shape": [2**40] * 3, "dtype": "uint8"}).status_code == 400


def handed_over(instance: Instance, token: str, shared: SharedArray, shape: tuple[int, ...]) -> dict[str, Any]:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(instance.session.socket)
    line = MessageChannel(connection)
    line.send({"token": token, "offer": {"shape": shape, "dtype": "uint16", "name": "shared"}}, shared.descriptor)
    answer, _ = line.receive(60)
    line.close()
    return answer


def test_memory_is_handed_over_without_a_copy_and_given_back(instance: Instance, source: str) -> None:
    own, steer = (secret(instance, has) for has in ("own", "control"))
    with SharedArray.create(VOXELS.shape, VOXELS.dtype) as shared, http(instance) as client:
        shared.array[...] = VOXELS
        assert "does not allow" in handed_over(instance, steer, shared, VOXELS.shape)["what"]
        assert "has" in handed_over(instance, own, shared, (99, 99, 99))["what"]
        assert handed_over(instance, own, shared, VOXELS.shape)["revision"] > 0
        shared.array[0, 0, 0] = 4711
        back = client.get("/api/volume", params={"box": "0:1,0:1,0:1"})
        assert np.load(io.BytesIO(back.content)).item() == 4711
        assert len(instance.session.worker.arrays) == 1
        assert handed_over(instance, own, shared, VOXELS.shape)["revision"] > 0
        assert len(instance.session.worker.arrays) == 1


def test_the_clipped_region_is_exported(instance: Instance, tmp_path: Path) -> None:
    with http(instance) as client, open_page(instance) as page:
        clip = {"start": [2, 3, 4], "stop": [8, 9, 10]}
        client.patch("/api/scene", json={"changes": [{"path": ["volumes", 0, "clip"], "value": clip}]})
        for format, ending in (("nrrd", ".nrrd"), ("tiff", ".tif"), ("zarr", ".zarr.zip")):
            task = client.post("/api/exports", json={"format": format}).json()["task"]
            reply = wait_for(page, task)
            assert reply["state"] == "finished", client.get(f"/api/tasks/{task}").text
            answer = client.get(f"/{reply['url']}")
            assert answer.headers["content-disposition"].rstrip('"').endswith(ending)
            path = tmp_path / f"part{ending}"
            path.write_bytes(answer.content)
            if format == "zarr":
                zipfile.ZipFile(path).extractall(tmp_path)
                path = next(tmp_path.glob("*.zarr"))
            with open_volume(path) as volume:
                np.testing.assert_array_equal(volume.read(), VOXELS[2:8, 3:9, 4:10])


def test_a_turntable_is_filmed(instance: Instance, tmp_path: Path) -> None:
    import av

    body = {"width": 32, "height": 32, "seconds": 0.5, "frames_per_second": 8}
    with http(instance) as client, open_page(instance) as page:
        task = client.post("/api/movies", json=body).json()["task"]
        reply = wait_for(page, task)
        assert reply["state"] == "finished", client.get(f"/api/tasks/{task}").text
        (tmp_path / "movie.mp4").write_bytes(client.get(f"/{reply['url']}").content)
    with av.open(tmp_path / "movie.mp4") as movie:
        assert sum(1 for _ in movie.decode(video=0)) == 4


def test_values_along_a_line_and_presets(instance: Instance) -> None:
    with http(instance) as client:
        line = {"start": [0, 12, 12], "stop": [EDGE - 1, 12, 12], "count": EDGE}
        reply = client.post("/api/profile", json=line).json()
        np.testing.assert_allclose(reply["values"], VOXELS[12, 12], rtol=1e-4)
        assert reply["length"] == EDGE - 1
        text = client.get("/api/presets/paraview").text
        read = client.post("/api/presets/parse", json={"text": text}).json()["transfer"]
        shown = client.get("/api/scene").json()["scene"]["volumes"][0]["transfer"]
        np.testing.assert_allclose(read["value_range"], shown["value_range"])
        assert client.post("/api/presets/parse", json={"text": "{}"}).status_code == 400


def replied(page: Page) -> dict[str, Any]:
    """The next state or error."""
    while not isinstance(message := page.hear(), dict) or message["type"] not in ("state", "error"):
        pass
    return message


def test_a_guest_cannot_go_back_to_what_was_closed_before(instance: Instance, folder: Path) -> None:
    """Undo and redo lead a guest to what it has seen, also to what it has removed itself, and to nothing else."""
    with http(instance) as owner, open_page(instance) as own:
        for name in ("labels.npy", "ball.npy"):
            assert owner.post("/api/load", json={"path": str(folder / name)}).status_code == 200
        own.say("hand_over_controls")
        while own.hear_text("controls")["holder"] is not None:
            pass
        with open_page(instance, "control") as guest:
            guest.say("undo")
            assert "closed before you opened this page" in replied(guest).get("what", "")
            guest.patch("volumes", 0, value=None)
            assert guest.hear_text("state")["scene"]["volumes"] == []
            guest.say("undo")
            assert [layer["source"] for layer in guest.hear_text("state")["scene"]["volumes"]] == ["ball.npy"]
            guest.say("redo")
            assert guest.hear_text("state")["scene"]["volumes"] == []
            guest.say("undo")
            guest.hear_text("state")
            own.say("request_controls")
            own.say("undo")  # The owner may.
            assert [layer["source"] for layer in guest.hear_text("state")["scene"]["volumes"]] == ["labels.npy"]
        with open_page(instance, "control") as late:
            own.say("hand_over_controls", client=late.client)
            for page in (late, own):
                while page.hear_text("controls")["holder"] != late.client:
                    pass
            late.say("redo")
            assert "closed before you opened this page" in replied(late).get("what", "")
