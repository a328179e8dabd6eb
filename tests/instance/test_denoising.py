"""Denoising over HTTP: a training that is watched, ended with its network kept, refused, continued."""

import io
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from pellucid.instance.server import Instance
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import foam
from pellucid.volume.volume import open_volume
from tests.instance.loopback import http, open_page
from tests.waiting import TIMEOUT_S, wait_until

COLUMNS, ROWS = 32, 12
REGIONS = [
    {"name": "material", "start": [0, 12, 12], "stop": [4, 20, 20]},
    {"name": "air", "start": [0, 0, 12], "stop": [4, 4, 20]},
]


@pytest.fixture(scope="module")
def scan(beamline: Path) -> str:
    angles = np.linspace(0, np.pi, 48, endpoint=False)
    detector = Detector(ROWS, COLUMNS, counts=1000)
    write_nxtomo(simulate(foam(14, 20, 0.02), detector, angles, Faults(is_noisy=True)), beamline / "scan.nxs")
    return str(beamline / "scan.nxs")


def request_for(scan: str, output: Path, **changes: Any) -> dict[str, Any]:
    recipe = asdict(Recipe(center=15.5, tilt=0.0))
    return {"path": scan, "output": str(output), "recipe": recipe, "regions": REGIONS, **changes}


def status_of(client: httpx.Client, scan: str) -> dict[str, Any]:
    reply: dict[str, Any] = client.get("/api/denoisings", params={"scan": scan}).json()
    return reply


def wait_while_running(client: httpx.Client, scan: str, is_so: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Until something is so of the status; a run that ends before shows why."""

    def is_reached() -> bool:
        status = status_of(client, scan)
        assert status["status"]["state"] == "running", status
        return bool(is_so(status))

    wait_until(is_reached, TIMEOUT_S)
    return status_of(client, scan)


def test_a_training_is_stopped_continued_watched_and_its_network_kept(
    empty_instance: Instance, scan: str, beamline: Path
) -> None:
    target = beamline / "clean.zarr"
    with http(empty_instance) as client, open_page(empty_instance) as page:
        assert client.get("/api/denoisings", params={"scan": scan}).json() is None
        task = client.post("/api/denoisings", json=request_for(scan, target, steps=4000)).json()["task"]
        wait_while_running(client, scan, lambda status: status["is_training"])
        page.say("cancel_task", task=task)
        wait_until(lambda: status_of(client, scan)["status"]["state"] == "stopped", TIMEOUT_S)
        assert status_of(client, scan)["status"]["what"] == "The denoising was cancelled."
        assert (beamline / "clean.network.partial" / "sets.zarr").exists()  # The slices of it are there already.
        task = client.post("/api/denoisings", json=request_for(scan, target, steps=4000)).json()["task"]
        seen = wait_while_running(client, scan, lambda status: status["images"] and len(status["losses"]) > 1)
        assert (seen["is_training"], seen["steps"], seen["output"]) == (True, 4000, str(target))
        assert seen["status"]["task"] == task and 0 < seen["step"] < 4000
        images = [client.get(f"/api/denoisings/{task}/images/{side}") for side in ("before", "after")]
        before, after = (np.asarray(Image.open(io.BytesIO(image.content))) for image in images)
        assert before.shape == after.shape == (COLUMNS, COLUMNS)
        assert client.post(f"/api/denoisings/{task}/keep").status_code == 204
        wait_until(lambda: status_of(client, scan)["status"]["state"] != "running", TIMEOUT_S)
        ended = status_of(client, scan)
        assert ended["status"]["state"] == "finished", ended
        assert ended["step"] < 4000 and ended["images"] and not ended["is_training"]
        assert (
            ended["sentences"][0].startswith("Signal to noise") and "material 0:4,12:20,12:20" in ended["sentences"][0]
        )
        assert client.get(f"/api/denoisings/{task}/images/after").status_code == 200
        again = client.post("/api/denoisings", json=request_for(scan, target))
        assert (again.status_code, "exists" in again.json()["what"]) == (400, True)
        late = client.post(f"/api/denoisings/{task}/keep")
        assert (late.status_code, late.json()["what"]) == (400, "The training is not running.")
    with open_volume(target) as volume:
        assert volume.shape == (ROWS, COLUMNS, COLUMNS)
    assert (beamline / "clean.network" / "network.onnx").exists()


@pytest.mark.parametrize(
    ("changes", "code", "what"),
    [
        ({"regions": REGIONS[:1]}, 400, "The regions are material."),
        ({"preset": "perfect"}, 422, ""),
        ({"steps": 0}, 422, ""),
        ({"output": "/etc/clean.zarr"}, 403, ""),
        ({"path": "/etc/passwd"}, 403, ""),
    ],
)
def test_what_cannot_be_denoised_is_refused(
    changes: dict[str, Any], code: int, what: str, empty_instance: Instance, scan: str, beamline: Path
) -> None:
    with http(empty_instance) as client:
        reply = client.post("/api/denoisings", json={**request_for(scan, beamline / "no.zarr"), **changes})
    assert reply.status_code == code
    assert what in reply.json()["what"]


def test_nobody_but_the_owner_denoises(empty_instance: Instance, scan: str, beamline: Path) -> None:
    with http(empty_instance, "control") as client:
        assert client.post("/api/denoisings", json=request_for(scan, beamline / "no.zarr")).status_code == 403
        assert client.get("/api/denoisings", params={"scan": scan}).status_code == 403


def test_what_was_not_started_is_not_found(empty_instance: Instance) -> None:
    with http(empty_instance) as client:
        assert client.get("/api/denoisings/none/images/after").status_code == 404
        assert client.post("/api/denoisings/none/keep").status_code == 404
