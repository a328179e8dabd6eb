"""A Worker beside the one that renders: what it announces is drawn, and its loss is shown on the page alone."""

import os
from pathlib import Path

import numpy as np
import pytest

from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Voxels
from pellucid.instance.server import Instance
from pellucid.workers.protocol import requests
from pellucid.workers.roles import SERVICES
from tests.instance.loopback import open_page, running
from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_S, wait_until


def test_what_a_role_announces_is_drawn_and_its_loss_is_reported(
    source: str, folder: Path, ball: Voxels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SERVICES, "compute", "tests.workers.doubling_service:DoublingService")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")
    with running(source, folder) as instance:
        viewer, voxels = Viewer(instance.url), (ball // 4).astype(np.uint16)
        viewer.render_volume(voxels)
        _check(instance, viewer, voxels)


def _check(instance: Instance, viewer: Viewer, voxels: Voxels) -> None:
    (name,) = instance.session.worker.arrays
    role, render_pid = instance.session.pool.get("compute"), instance.session.worker.pid
    with open_page(instance) as page:
        before = page.exact().rgb
        role.send_request("doubling", lambda number: requests.MeasureValues(number, name)).result(TIMEOUT_S)
        assert page.hear_text("progress")["name"] == "Doubling"
        while not (page.exact().rgb != before).any():
            pass
        np.testing.assert_array_equal(np.asarray(viewer.retrieve_volume()), voxels * 2)
        lost = role.send_request("running code", lambda number: requests.Compile(number, "crash"))
        while "compute process stopped" not in (refusal := page.hear_text("error"))["what"]:
            pass
        assert "SIGSEGV" in refusal["what"] and lost.exception(TIMEOUT_S) is not None
    assert instance.session.worker.pid == render_pid and instance.session.worker.restarts == 0


def test_on_a_gpu_the_compute_process_starts_when_a_volume_is_shown(
    source: str, folder: Path, ball: Voxels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SERVICES, "compute", "tests.workers.doubling_service:DoublingService")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")
    with running(source, folder) as instance:
        session = instance.session
        role = session.pool.get("compute")
        session.pool_events.start_compute()
        assert role.pid is None
        monkeypatch.setattr(session.relay, "device", "cuda:0")
        wait_until(lambda: role.pid)
