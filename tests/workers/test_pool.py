"""Workers of several roles: each starts when it is first used, is replaced alone, and announces what it made."""

import os
import queue
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.errors import Cancelled, InvalidInput, WorkerLost
from pellucid.formats.shared_memory import SharedArray
from pellucid.rendering.scene import Scene
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.compute.service import ComputeService
from pellucid.workers.main import HANDLERS
from pellucid.workers.pool import RoleWorker, WorkerPool
from pellucid.workers.process import Deadlines, ExitReason
from pellucid.workers.protocol import requests
from pellucid.workers.protocol.announcements import Announcement, ArrayProduced, VoxelsChanged
from pellucid.workers.protocol.replies import ProgressReported
from pellucid.workers.roles import SERVICES, Role, RoleBesideRender
from pellucid.workers.supervisor import SupervisedWorker
from pellucid.workers.user_code.service import UserCodeService
from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_S, wait_until
from tests.workers.conftest import SOURCE, Ear, small

DOUBLING = "tests.workers.doubling_service:DoublingService"
DEADLINES: dict[RoleBesideRender, Deadlines] = {"compute": Deadlines(computing=1.0), "user_code": Deadlines()}


@dataclass
class PoolEar:
    """What the pool reported, by kind, in order."""

    heard: "dict[str, queue.Queue[Any]]" = field(
        default_factory=lambda: {kind: queue.Queue() for kind in ("lost", "progress", "announced")}
    )

    def role_was_lost(self, role: Role, ending: ExitReason) -> None:
        self.heard["lost"].put((role, ending))

    def role_progress(self, role: Role, progress_made: ProgressReported) -> None:
        self.heard["progress"].put((role, progress_made))

    def announced(self, role: Role, announcement: Announcement, array: SharedArray | None) -> None:
        self.heard["announced"].put((role, announcement, array))

    def next(self, kind: str) -> Any:
        return self.heard[kind].get(timeout=TIMEOUT_S)


@pytest.fixture
def pool_ear() -> PoolEar:
    return PoolEar()


@pytest.fixture
def pool(worker: SupervisedWorker, pool_ear: PoolEar, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerPool]:
    """A render Worker that has the sample, and two roles that double."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")
    pool = WorkerPool(worker, pool_ear, services={"compute": DOUBLING, "user_code": DOUBLING}, deadlines=DEADLINES)
    yield pool
    pool.close()


def double(worker: RoleWorker) -> None:
    worker.send_request("doubling", lambda number: requests.MeasureValues(number, SOURCE)).result(TIMEOUT_S)


def run(worker: RoleWorker, what: str) -> "Any":
    return worker.send_request("running code", lambda number: requests.Compile(number, what))


def voxels_of(worker: SupervisedWorker) -> np.ndarray[Any, Any]:
    question = lambda number: requests.Retrieve(number, SOURCE, None)  # noqa: E731
    _, shared = worker.send_request("retrieving", question).result(TIMEOUT_S)
    with shared:
        return np.array(shared.array)


def test_every_request_is_handled_by_a_role() -> None:
    handled = {*HANDLERS, *ComputeService.handlers, *UserCodeService.handlers}
    assert handled == set(requests.Request.__args__)
    assert set(SERVICES) == {"compute", "user_code"}


def test_a_role_starts_with_its_first_request(pool: WorkerPool) -> None:
    assert pool.get("compute").pid is None
    with pytest.raises(InvalidInput, match="This is no code"):
        run(pool.get("compute"), "nothing").result(TIMEOUT_S)
    assert pool.get("compute").pid not in (None, pool.render.pid)
    assert pool.get("user_code").pid is None


def test_what_a_role_changes_is_drawn(
    pool: WorkerPool, worker: SupervisedWorker, ear: Ear, pool_ear: PoolEar, scene: Scene
) -> None:
    before, image = voxels_of(worker), ear.exact(worker.draw(small(scene), 50, True))
    double(pool.get("compute"))
    announced = [pool_ear.next("announced") for _ in before]
    assert [role for role, _, _ in announced] == ["compute"] * len(before)
    for z, (_, announcement, array) in enumerate(announced):
        assert isinstance(announcement, VoxelsChanged) and announcement.source == SOURCE and array is None
        assert (announcement.boxes[0].start[0], announcement.boxes[0].shape) == (z, (1, *before.shape[1:]))
    np.testing.assert_array_equal(voxels_of(worker), before * 2)
    assert pool_ear.next("progress")[1].name == "Doubling"
    after = ear.exact(worker.draw(small(scene), 50, True))
    assert (after != image).any()


def test_an_array_that_a_role_produced_outlives_it(
    pool: WorkerPool, worker: SupervisedWorker, pool_ear: PoolEar
) -> None:
    role = pool.get("user_code")
    role.send_request("copying", lambda number: requests.Describe(number, SOURCE)).result(TIMEOUT_S)
    name, announcement, array = pool_ear.next("announced")
    role.close()
    assert name == "user_code" and isinstance(announcement, ArrayProduced)
    assert (announcement.source, announcement.spacing) == (f"{SOURCE}-copy", (1.0, 0.5, 2.0))
    np.testing.assert_array_equal(array.array, voxels_of(worker))
    worker.use_array(announcement.source, OwnedArray(array, announcement.spacing)).result(TIMEOUT_S)
    assert worker.arrays == {SOURCE, f"{SOURCE}-copy"}


def test_a_role_that_is_lost_costs_the_others_nothing(
    pool: WorkerPool, worker: SupervisedWorker, pool_ear: PoolEar
) -> None:
    role, before = pool.get("compute"), voxels_of(worker)
    render_pid = worker.pid
    with pytest.raises(WorkerLost, match=r"while running code: it crashed \(SIGSEGV\)"):
        run(role, "crash").result(TIMEOUT_S)
    lost, ending = pool_ear.next("lost")
    assert lost == "compute" and ending.is_fault and role.pid is None
    double(role)  # The next request starts another one, which has all arrays.
    np.testing.assert_array_equal(voxels_of(worker), before * 2)
    assert role.restarts == 1 and worker.restarts == 0 and worker.pid == render_pid


def test_the_loss_of_the_render_worker_costs_the_roles_nothing(pool: WorkerPool, ear: Ear) -> None:
    role = pool.get("compute")
    double(role)
    pid = role.pid
    assert pool.render.pid is not None
    os.kill(pool.render.pid, signal.SIGKILL)
    ear.next("lost")
    double(role)
    assert role.pid == pid


def test_a_role_without_progress_is_ended(pool: WorkerPool, pool_ear: PoolEar) -> None:
    with pytest.raises(WorkerLost, match="it hung in computing"):
        run(pool.get("compute"), "wait").result(TIMEOUT_S)
    assert pool_ear.next("lost")[1].is_fault


def test_a_request_can_be_cancelled(pool: WorkerPool) -> None:
    role = pool.get("user_code")
    waiting = run(role, "wait")
    role.cancel(waiting)
    with pytest.raises(Cancelled):
        waiting.result(TIMEOUT_S)


def test_a_request_that_does_not_end_is_stopped_with_its_processes(pool: WorkerPool, tmp_path: Path) -> None:
    role, note = pool.get("user_code"), tmp_path / "child"
    waiting, before = run(role, f"stuck {note}"), role.pid
    wait_until(lambda: note.exists() and note.read_text().endswith("\n"))
    role.stop(waiting, timeout_s=0.01)
    with pytest.raises(WorkerLost, match="it did not stop when it was cancelled"):
        waiting.result(TIMEOUT_S)
    wait_until(lambda: not is_running(int(note.read_text())))
    double(role)
    assert role.pid != before


def test_a_request_that_ends_when_it_is_stopped_leaves_its_worker(pool: WorkerPool) -> None:
    role = pool.get("user_code")
    waiting, pid = run(role, "wait"), role.pid
    role.stop(waiting)
    with pytest.raises(Cancelled):
        waiting.result(TIMEOUT_S)
    double(role)
    assert role.pid == pid


def is_running(pid: int) -> bool:
    """One that has ended and that no one has waited for does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_memory_that_could_shrink_is_refused(pool: WorkerPool, pool_ear: PoolEar) -> None:
    with pytest.raises(WorkerLost, match="invalid message"):
        run(pool.get("user_code"), "unsealed").result(TIMEOUT_S)
    pool_ear.next("lost")
    assert pool_ear.heard["announced"].empty()


def test_memory_is_released_when_no_role_uses_it(pool: WorkerPool, worker: SupervisedWorker) -> None:
    released: queue.Queue[SharedArray] = queue.Queue()
    shared = SharedArray.create((2, 2, 2), "uint8")
    with suppress(InvalidInput):
        run(pool.get("compute"), "nothing").result(TIMEOUT_S)
    worker.use_array("memory:small", OwnedArray(shared, released=released.put)).result(TIMEOUT_S)
    pid = pool.get("compute").pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    worker.forget_array("memory:small").result(TIMEOUT_S)
    assert released.empty()
    os.kill(pid, signal.SIGCONT)
    assert released.get(timeout=TIMEOUT_S) is shared


def test_a_role_that_cannot_start_says_why(
    worker: SupervisedWorker, pool_ear: PoolEar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")
    absent = "tests.workers.doubling_service:AbsentDeviceService"
    pool = WorkerPool(worker, pool_ear, services={"compute": absent}, devices={"compute": "cuda:99"})
    with pytest.raises(WorkerLost, match="The device 'cuda:99' is not there"):
        run(pool.get("compute"), "anything").result(TIMEOUT_S)
    assert "cuda:99" in pool_ear.next("lost")[1].why
