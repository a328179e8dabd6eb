"""Figures over HTTP: what is on them, what is in them, and who may ask for it."""

import io

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
