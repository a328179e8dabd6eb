"""Saved states: the same picture again, here and elsewhere, and code only with consent."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pellucid.instance.server import Instance
from tests.instance.loopback import http, open_page, running

GREEN = "return vec3(0.0f, 1.0f, 0.0f);"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pellucid.instance.scene.saved_states.states_folder", lambda: tmp_path / "states")


def test_an_instance_restarted_with_a_link_shows_the_same_picture(instance: Instance, folder: Path) -> None:
    with http(instance) as client, open_page(instance) as page:
        page.exact()
        client.patch("/api/scene", json={"changes": [{"path": ["volumes", 0, "mode"], "value": "mean"}]})
        revision = client.put("/api/camera", json={"camera": _camera(page.scene.camera.turned(40.0))}).json()[
            "revision"
        ]
        page.say("slices", voxel=[3, 4, 5])
        shown = page.exact(revision, page.scene.camera.turned(40.0)).rgb
        link = client.post("/api/links").json()
        assert re.fullmatch(f"#share=[\\w-]{{32}}&state={link['name']}", link["url"])
        client.patch("/api/scene", json={"changes": [{"path": ["volumes", 0, "mode"], "value": "max"}]})
        page.exact(revision + 1)
        share = link["url"].removeprefix("#share=").partition("&")[0]
        guest = {"Authorization": f"Bearer {share}"}
        assert client.get("/api/state", headers=guest).status_code == 403  # It opens that state, and no more.
        assert client.post("/api/links/0123456789/open", headers=guest).status_code == 403
        assert client.post(f"/api/links/{link['name']}/open", headers=guest).status_code == 200
        again_at_once = client.post(f"/api/links/{link['name']}/open", headers=guest)
        assert again_at_once.status_code == 429  # Or a guest could keep the scene from its owner.
        again = page.hear_text("state")
        while again["scene"]["volumes"][0]["mode"] != "mean":
            again = page.hear_text("state")
        np.testing.assert_array_equal(page.exact(again["revision"]).rgb, shown)
    with running(None, folder, state=link["name"]) as other, open_page(other) as page:
        assert page.state["scene"]["volumes"][0]["mode"] == "mean"
        np.testing.assert_array_equal(page.exact().rgb, shown)


def _camera(camera: object) -> object:
    return json.loads(json.dumps(camera, default=vars))


def test_code_from_elsewhere_is_shown_and_compiled_only_with_consent(fresh: Instance) -> None:
    with http(fresh) as client, open_page(fresh) as page:
        plain = page.exact().rgb
        state = client.get("/api/state").json()
        from pellucid.rendering.user_shading import UserShading

        hash = UserShading(GREEN).hash
        state["scene"]["volumes"][0] |= {"shading": "user", "user_shading": hash}
        state["shadings"] = {hash: GREEN}
        revision = client.put("/api/state", json=state).json()["revision"]
        (waiting,) = page.hear_text("shadings")["shadings"]
        while not waiting["is_waiting"]:
            (waiting,) = page.hear_text("shadings")["shadings"]
        assert (waiting["hash"], waiting["source"]) == (hash, GREEN)
        np.testing.assert_array_equal(page.exact(revision).rgb, plain)  # Drawn in plain light until somebody agrees.
        with http(fresh, "control") as steering:
            assert steering.post(f"/api/shadings/{hash}/approve").status_code == 403
        assert client.post(f"/api/shadings/{hash}/approve").json()["hash"] == hash
        while (shown := page.exact(revision).rgb)[..., 0].max() > 0:
            pass
        assert shown[..., 1].max() > 100
        assert client.post(f"/api/shadings/{hash}/approve").status_code == 400
    with open_page(fresh, "view") as page:
        assert [one["source"] for one in page.hear_text("shadings")["shadings"]] == [""]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 99}, "version 99"),
        ({"scene": 3}, "Invalid scene"),
        ({"scene": {"version": 1, "volumes": [{"source": "/etc/passwd"}]}}, "is outside"),
        ({"scene": {"version": 1, "volumes": [{"source": "memory:gone"}]}}, "array of another viewer"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_state_that_cannot_be_is_refused(instance: Instance, change: dict[str, object], words: str) -> None:
    with http(instance) as client:
        before = client.get("/api/scene").json()["revision"]
        answer = client.put("/api/state", json={**client.get("/api/state").json(), **change})
        assert 400 <= answer.status_code < 500 and words in answer.text
        assert client.get("/api/scene").json()["revision"] == before


def test_a_link_that_leads_nowhere_is_told(instance: Instance) -> None:
    with http(instance) as client:
        assert client.post("/api/links/0123456789/open").status_code == 404
        assert client.post("/api/links/..%2f..%2fetc/open").status_code in (404, 422)
