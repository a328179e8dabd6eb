"""A network that is trained as a task of the agent, as its page shows it."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from pellucid.agent.jobs.trainings import TaskTraining
from tests.agent.processes import AgentProcess, agent
from tests.waiting import TIMEOUT_MS

"""PyTorch is imported, the network learns."""
SIZE = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two halves, with a number each, in noise."""
    folder = tmp_path_factory.mktemp("volumes")
    labels = np.ones((16, 32, 32), np.int32)
    labels[:, :, 16:] = 2
    np.save(folder / "labels.npy", labels)
    np.save(folder / "raw.npy", (60 * labels + np.random.default_rng(0).normal(0, 8, labels.shape)).astype(np.uint8))
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, volumes: Path) -> Iterator[AgentProcess]:
    with agent(tmp_path_factory.mktemp("state"), f'roots = ["{volumes}"]', PELLUCID_DEVICE="cpu") as started:
        yield started


def test_a_training_is_watched_and_ended_on_the_page(running: AgentProcess, volumes: Path, browser: Browser) -> None:
    names = ("--volume", "raw.npy", "--labels", "labels.npy", "-o", "net", "--kind", "2d", "--target", "classes")
    size = ("--width", "4", "--steps", "4000", "--batch", "2", "--epoch-steps", "20", "--threads", "1")
    id = running.run(volumes, "train", "segment", *names, *size, name="two halves")
    assert running.ask("GET", f"/api/jobs/{id}")["is_training"]
    page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
    page.goto(running.url)
    page.get_by_role("article", name="two halves").get_by_role("button", name="Training").click()
    dialog = page.get_by_role("dialog", name="Training: two halves")
    expect(dialog.get_by_role("img", name="loss", exact=True)).to_be_visible(timeout=TIMEOUT_MS)
    expect(dialog.locator("canvas[data-version]").first).to_be_visible(timeout=TIMEOUT_MS)
    if folder := os.environ.get("TRAINING_PICTURES"):
        page.screenshot(path=f"{folder}/agent-training.png")
    seen = running.ask("GET", f"/api/jobs/{id}/training")
    assert 0 < seen["step"] < seen["steps"] == 4000 and seen["can_stop"] and seen["losses"]
    dialog.get_by_role("button", name="Stop and keep the network").click()
    reply = running.until(id, "ended")
    assert reply["progress"]["result"] == str(volumes / "net") and (volumes / "net" / "network.onnx").exists()
    ended = running.ask("GET", f"/api/jobs/{id}/training")
    assert 0 < ended["step"] < 4000 and not ended["can_stop"]  # The curve is kept with the network.
    page.close()


def test_what_does_not_train_has_no_training(running: AgentProcess, volumes: Path) -> None:
    id = running.run(volumes, "convert", "raw.npy", "raw.zarr")
    assert not running.until(id, "ended")["is_training"]
    for method, path in (("GET", "training"), ("GET", "training/after"), ("POST", "training/stop")):
        reply: httpx.Response = running.client.request(method, f"/api/jobs/{id}/{path}")
        assert reply.status_code == 404 and "training" in reply.json()["what"]


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (("denoise", "/a/scan.nxs", "-o", "/b/clean.zarr"), "/b/clean.network.partial/training"),
        (("denoise", "scan.nxs", "--output=clean.zarr"), "/data/clean.network.partial/training"),
        (("train", "segment", "-o", "net"), "/data/net.partial/training"),
        (("denoise", "scan.nxs", "-o", "clean.zarr", "--network", "net"), None),
        (("train", "segment"), None),
        (("convert", "a", "-o", "b"), None),
    ],
)
def test_where_a_training_is(arguments: tuple[str, ...], folder: str | None) -> None:
    found = TaskTraining.of(arguments, "/data")
    assert (None if found is None else str(found.folders[0])) == folder
