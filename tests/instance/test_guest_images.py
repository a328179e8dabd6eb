"""Images that guests ask for: drawn when nothing else is wanted."""

from concurrent.futures import Future
from typing import Any

import pytest

from pellucid.instance.protocol.shared_types import Capability
from pellucid.instance.server import Instance
from pellucid.workers.protocol.requests import ViewSpec
from tests.instance.loopback import http
from tests.waiting import wait_until


@pytest.mark.parametrize(("capability", "is_for_guest"), [("control", True), ("own", False)])
def test_screenshots_and_movies_of_guests_wait_for_everything_else(
    fresh: Instance, capability: Capability, is_for_guest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, sent = fresh.session.worker, list[bool]()
    screenshot = worker.screenshot

    def recorded(view: ViewSpec, *, is_for_guest: bool = False) -> "Future[Any]":
        sent.append(is_for_guest)
        return screenshot(view, is_for_guest=is_for_guest)

    monkeypatch.setattr(worker, "screenshot", recorded)
    with http(fresh, capability) as client:
        assert client.get("/api/screenshot?width=8&height=8").status_code == 200
        movie = {"width": 16, "height": 16, "seconds": 0.1, "frames_per_second": 20}
        task = client.post("/api/movies", json=movie).json()["task"]
        wait_until(lambda: client.get(f"/api/tasks/{task}").json()["state"] != "running")
    assert sent == [is_for_guest] * 3
