"""A Worker that crashes, hangs or is killed: the picture, the volume and the last good shading come back."""

import os
import signal

import numpy as np
import pytest

from pellucid.instance.scene.shadings import Shadings
from pellucid.instance.server import Instance
from pellucid.rendering.scene import Scene, VolumeLayer
from tests.instance.loopback import Page, http, open_page
from tests.waiting import wait_until

NULL = "return color * (*(volatile float*)0);"
FOR_EVER = "volatile int go = 1; while (go) {} return color;"
RED = "//@ gain = 1 in 0 .. 2\nreturn vec3(gain, 0.0f, 0.0f);"


def compiled(instance: Instance, source: str) -> str:
    with http(instance) as client:
        answer = client.post("/api/shadings", json={"source": source})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["hash"])


def shade(page: Page, hash: str) -> int:
    changes = [
        {"path": ["volumes", 0, "shading"], "value": "user"},
        {"path": ["volumes", 0, "user_shading"], "value": hash},
    ]
    page.say("patch", revision=page.state["revision"], changes=changes)
    return int(page.hear_text("state")["revision"])


@pytest.mark.parametrize(("text", "why"), [(NULL, "crashed"), (FOR_EVER, "hung in shading")])
def test_the_last_good_shading_is_back_after_a_bad_one(fresh: Instance, text: str, why: str) -> None:
    red, bad = compiled(fresh, RED), compiled(fresh, text)
    with open_page(fresh) as page:
        good = page.exact(shade(page, red)).rgb
        assert good[..., 0].max() > 200 and good[..., 1].max() == 0
        shade(page, bad)
        refusal = page.hear_text("error")
        assert why in refusal["what"] and "last working one was restored" in refusal["remedy"]
        while page.state["scene"]["volumes"][0]["user_shading"] != red:
            page.hear_text("state")
        np.testing.assert_array_equal(page.exact(page.state["revision"]).rgb, good)
    with http(fresh) as client:
        assert client.get("/api/statistics").json()["worker_restarts"] == 1


def test_a_bad_shading_is_taken_back_without_a_page_too(fresh: Instance) -> None:
    red, bad = compiled(fresh, RED), compiled(fresh, NULL)
    with http(fresh) as client:

        def shade_without_a_page(hash: str) -> int:
            state = client.get("/api/state").json()
            state["scene"]["volumes"][0] |= {"shading": "user", "user_shading": hash}
            assert client.put("/api/state", json=state).status_code == 200
            return client.get("/api/screenshot", params={"width": 64, "height": 64}).status_code

        def shading() -> object:
            return client.get("/api/state").json()["scene"]["volumes"][0]["user_shading"]

        assert shade_without_a_page(red) == 200
        assert shade_without_a_page(bad) == 503
        wait_until(lambda: shading() == red)
        assert client.get("/api/screenshot", params={"width": 64, "height": 64}).status_code == 200
        assert client.get("/api/statistics").json()["worker_restarts"] == 1


def test_a_shading_that_was_drawn_is_not_blamed_before_one_that_never_was() -> None:
    shadings, names = Shadings(), ("good", "new")
    good, new = (Scene(volumes=(VolumeLayer("a", shading="user", user_shading=name),)) for name in names)
    shadings.were_drawn([good])
    assert shadings.last_drawn_shading([good, new]) == shadings.last_drawn_shading([new, good]) == "new"
    assert shadings.last_drawn_shading([good]) == "good" and shadings.last_drawn_shading([Scene()]) is None


def test_after_a_kill_everything_is_as_it_was(fresh: Instance) -> None:
    red = compiled(fresh, RED)
    with open_page(fresh) as page:
        before = page.exact(shade(page, red)).rgb
        pid = fresh.session.worker.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while page.hear_text("worker")["state"] != "lost":
            pass
        np.testing.assert_array_equal(page.exact().rgb, before)
        assert page.state["scene"]["volumes"][0]["user_shading"] == red
    assert fresh.session.worker.pid != pid


def test_a_compile_error_names_its_line_and_changes_nothing(fresh: Instance) -> None:
    with open_page(fresh) as page:
        before = page.exact().rgb
        with http(fresh) as client:
            answer = client.post("/api/shadings", json={"source": "vec3 c = color;\nreturn colour;"})
        assert (answer.status_code, answer.json()["line"]) == (400, 2)
        page.look(page.scene.camera, is_moving=False)
        np.testing.assert_array_equal(page.exact().rgb, before)


def test_compiling_is_told_while_it_lasts(fresh: Instance) -> None:
    with open_page(fresh) as page:
        page.exact()
        fresh.session.relay.stage_changed("compiling")
        while page.hear_text("worker")["state"] != "compiling":
            pass
        fresh.session.relay.stage_changed("drawing")
        assert page.hear_text("worker")["state"] == "ready"
