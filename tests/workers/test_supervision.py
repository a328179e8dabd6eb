"""A Worker that crashes, hangs or is killed is replaced, and volume and shadings are back."""

import os
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import InvalidInput, PellucidError, ShadingInvalid, WorkerLost
from pellucid.rendering.scene import Scene
from pellucid.workers.protocol.requests import Describe, ViewSpec
from pellucid.workers.supervisor import SupervisedWorker
from tests.waiting import TIMEOUT_S
from tests.workers.conftest import SOURCE, Ear, shaded, small

NULL = "return color * (*(volatile float*)0);"
FOR_EVER = "volatile int go = 1; while (go) {} return color;"
RED = "//@ gain = 1 in 0 .. 2\nreturn vec3(gain, 0.0f, 0.0f);"


def test_what_was_drawn_before_a_kill_is_drawn_after_it(worker: SupervisedWorker, ear: Ear, scene: Scene) -> None:
    red = worker.compile(RED).result(TIMEOUT_S)
    assert red.parameters[0].name == "gain"
    before = ear.exact(worker.draw(small(shaded(scene, red.hash)), 50, True))
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    ending = ear.next("lost")
    assert "was killed" in ending.why and not ending.is_fault
    after = ear.exact(worker.draw(small(shaded(scene, red.hash)), 50, True))
    np.testing.assert_array_equal(after, before)
    assert before[..., 0].max() > 200 and before[..., 1].max() == 0
    assert worker.restarts == 1


@pytest.mark.parametrize(("source", "why"), [(NULL, "crashed (SIGSEGV)"), (FOR_EVER, "hung in shading")])
def test_a_bad_shading_costs_one_process(
    source: str, why: str, worker: SupervisedWorker, ear: Ear, scene: Scene
) -> None:
    before = ear.exact(worker.draw(small(scene), 50, True))
    bad = worker.compile(source).result(TIMEOUT_S)
    worker.draw(small(shaded(scene, bad.hash)), 50, True)
    ending = ear.next("lost")
    assert why in ending.why and ending.is_fault
    worker.forget_shading(bad.hash)
    np.testing.assert_array_equal(ear.exact(worker.draw(small(scene), 50, True)), before)


def test_a_compile_error_names_its_line(worker: SupervisedWorker) -> None:
    with pytest.raises(ShadingInvalid, match="Line 2") as refused:
        worker.compile("vec3 c = color;\nreturn colour;").result(TIMEOUT_S)
    assert refused.value.line == 2


def test_who_waits_is_told_of_the_loss(worker: SupervisedWorker, ear: Ear) -> None:
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGSTOP)  # So that it cannot answer first.
    requested = worker.send_request("describing", lambda request: Describe(request, SOURCE))
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerLost, match="while describing"):
        requested.result(TIMEOUT_S)
    ear.next("lost")


def test_a_device_that_is_not_there_is_given_up(ear: Ear) -> None:
    absent = SupervisedWorker("cuda:99", ear)
    absent.start()
    try:
        assert "device 'cuda:99' is not available" in str(ear.next("failed"))
        assert not ear.next("lost").is_fault
    finally:
        absent.close()


def test_an_unknown_file_is_refused_with_its_own_error(worker: SupervisedWorker) -> None:
    with pytest.raises(Exception, match="does not exist") as refused:
        worker.send_request("describing", lambda request: Describe(request, "/nowhere/scan.h5")).result(TIMEOUT_S)
    assert type(refused.value).__name__ == "NotFound"


def test_a_scene_that_cannot_be_drawn_is_told(worker: SupervisedWorker, ear: Ear, scene: Scene) -> None:
    worker.draw(small(shaded(scene, "nobody")), 50, True)
    assert isinstance(ear.next("failed"), InvalidInput)
    assert ear.exact(worker.draw(small(scene), 50, True)).shape == (32, 48, 4)


def test_a_worker_without_memory_refuses_or_is_replaced(worker: SupervisedWorker, ear: Ear, scene: Scene) -> None:
    before = ear.exact(worker.draw(small(scene), 50, True))
    pid = worker.pid
    assert pid is not None
    used = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (used + 2**26, used + 2**26))
    with pytest.raises(PellucidError):
        worker.screenshot(ViewSpec(scene, 8192, 8192)).result(TIMEOUT_S)
    np.testing.assert_array_equal(ear.exact(worker.draw(small(scene), 50, True)), before)
