"""Figures over HTTP: what is on them, what is in them, and who may ask for it."""

import io
import json

import numpy as np
from PIL import Image

from pellucid.instance.server import Instance
from pellucid.rendering.figures.image_files import KEY
from pellucid.rendering.scene import Scene
from tests.instance.loopback import http


def image_of(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def test_a_figure_has_its_size_its_marks_and_its_scene(fresh: Instance) -> None:
    body = {"width": 320, "height": 200, "dpi": 300, "is_transparent": True, "has_scene": True}
    with http(fresh) as owner:
        reply = owner.post("/api/figures", json=body)
        plain = image_of(reply.content)
        marks = {"is_color_bar": True, "value_unit": "HU"}
        marked = image_of(owner.post("/api/figures", json={**body, "annotations": marks}).content)
        scene = owner.get("/api/scene").json()["scene"]
    assert reply.headers["content-type"] == "image/png"
    assert (plain.size, marked.size) == ((320, 200), (320, 200))
    assert np.asarray(plain)[..., 3].min() == 0
    assert round(plain.info["dpi"][0]) == 300
    kept = Scene.from_json(plain.text[KEY])  # type: ignore[attr-defined]
    assert kept.background == (0.0, 0.0, 0.0, 0.0)
    assert kept.volumes[0].source == scene["volumes"][0]["source"]
    assert (np.asarray(marked)[:, 250:] != np.asarray(plain)[:, 250:]).any(axis=-1).mean() > 0.02
    np.testing.assert_array_equal(np.asarray(marked)[:, :180], np.asarray(plain)[:, :180])


def test_guests_get_no_names_of_files_and_owners_a_tiff(fresh: Instance) -> None:
    body = {"width": 64, "height": 48}
    with http(fresh) as owner, http(fresh, "control") as guest:
        assert guest.post("/api/figures", json={**body, "has_scene": True}).status_code == 403
        assert KEY not in image_of(guest.post("/api/figures", json=body).content).text  # type: ignore[attr-defined]
        assert guest.post("/api/figures", json={"width": 8192, "height": 8192}).status_code == 403
        assert image_of(owner.post("/api/figures", json={**body, "format": "tiff"}).content).format == "TIFF"
        assert owner.post("/api/figures", json={**body, "annotations": {"text_scale": 99}}).status_code == 400


def test_key_frames_are_drawn_read_and_followed(fresh: Instance) -> None:
    with http(fresh) as owner, http(fresh, "control") as guest:
        camera = owner.get("/api/scene").json()["scene"]["camera"]
        keys = [{"at_s": 0, "camera": camera, "time": 0}, {"at_s": 2, "camera": {**camera, "height": 9.0}, "time": 1}]
        read = owner.post("/api/movies/path", json={"text": json.dumps({"version": 1, "keys": keys})}).json()
        assert read["version"] == 1 and read["keys"][1]["camera"]["height"] == 9.0
        body = {"path": {"keys": read["keys"]}, "frames_per_second": 10}
        moments = guest.post("/api/movies/moments", json=body).json()["moments"]
        assert len(moments) == 21
        assert (moments[0]["time"], moments[10]["time"], moments[-1]["camera"]["height"]) == (0, 0.5, 9.0)
        near = {"at_s": 0, "camera": {**camera, "field_of_view_deg": 2.0}}
        images = [
            np.asarray(image_of(owner.post("/api/figures", json={"width": 64, "height": 48, **more}).content))
            for more in ({}, {"key": near})
        ]
        assert (images[0] != images[1]).mean() > 0.1
        far = {"at_s": 0, "camera": {**camera, "height": 1e300}}
        assert owner.post("/api/figures", json={"width": 64, "height": 48, "key": far}).status_code == 400
        many = [{**keys[0], "at_s": second} for second in range(101)]
        assert "too long" in owner.post("/api/movies/moments", json={"path": {"keys": many}}).json()["what"]
        long = {"width": 64, "height": 48, "path": {"keys": [keys[0], {**keys[1], "at_s": 500}]}}
        assert guest.post("/api/movies", json=long).status_code == 403
