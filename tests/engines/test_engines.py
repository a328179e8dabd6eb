"""The engines of this machine keep the contract; and what is special about each."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.run import run
from pellucid.engines.worker import WorkFailed
from pellucid.errors import InvalidInput, WorkerLost
from pellucid.formats.protocol import Voxels
from tests.contracts.engine_tasks import Invert
from tests.contracts.engines import EngineContract, blocks, written


class TestSerial(EngineContract):
    name = "serial"


class TestThreads(EngineContract):
    name = "local"


class TestProcesses(EngineContract):
    name = "processes"

    def test_a_killed_worker_is_replaced_and_its_block_done_again(self, task: Invert, voxels: Voxels) -> None:
        dying = replace(task, trouble="dies")
        assert len(list(run(dying, blocks(), self.engine()))) == 4
        assert dying.runs() == [0, 1, 1, 2, 3]
        assert (written(task) == 255 - voxels).all()

    def test_a_block_that_kills_every_worker_is_given_up(self, task: Invert) -> None:
        with pytest.raises(WorkerLost, match="it was stopped by signal 9"):
            list(run(replace(task, trouble="always dies"), blocks(), self.engine(attempts=2)))

    def test_a_bug_in_the_task_shows_its_traceback(self, task: Invert) -> None:
        with pytest.raises(WorkFailed, match="ZeroDivisionError: of our own making"):
            list(run(replace(task, trouble="bug"), blocks(), self.engine()))

    def test_nothing_is_left_running(self, task: Invert) -> None:
        list(run(task, blocks(), self.engine()))
        assert _children() == []

    def test_modules_in_the_current_folder_do_not_run(
        self, task: Invert, voxels: Voxels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "shared"
        folder.mkdir()
        (folder / "multiprocessing.py").write_text("open('ran', 'w')")
        monkeypatch.chdir(folder)
        monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
        assert len(list(run(task, blocks(), self.engine()))) == 4
        assert (written(task) == 255 - voxels).all()
        assert not (folder / "ran").exists() and "PYTHONSAFEPATH" not in os.environ

    def test_what_cannot_be_opened_is_said(self, task: Invert, tmp_path: Path) -> None:
        (tmp_path / "in.npy").unlink()
        with pytest.raises(Exception, match="does not exist"):
            list(run(task, blocks(), self.engine()))


def _children() -> list[str]:
    """Processes of ours that work on blocks."""
    mine = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [child for child in mine if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()]


def test_an_unknown_engine_lists_the_known() -> None:
    with pytest.raises(InvalidInput, match="serial, threads, processes, parsl, spark, local"):
        make_engine("quantum", EngineOptions(1, 1))
