"""A real viewer in a process of its own, shared by the tests that leave it running."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import settings
from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample
from tests.agent.processes import end_everything

EDGE = 24


@pytest.fixture(scope="session")
def array() -> Voxels:
    return np.ascontiguousarray(sample(EDGE))


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pellucid.Viewer]:
    """Started once: every start takes seconds."""
    with pytest.MonkeyPatch.context() as patch:  # Only while it starts: other tests have folders of their own.
        patch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path_factory.mktemp("state")))
        patch.chdir(tmp_path_factory.mktemp("here"))
        started = pellucid.start(device="cpu")
    with started:
        yield started


@pytest.fixture
def viewer(running: pellucid.Viewer, array: Voxels) -> pellucid.Viewer:
    """The viewer, showing the array as it is shown at first."""
    running.render_volume(array, name="ball")
    return running


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folders of a user for whom nothing runs yet; their agent is stopped at the end."""
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path))
    monkeypatch.setenv("PELLUCID_SITE_FILE", str(tmp_path / "site.toml"))
    with settings.use(settings.load()):
        yield tmp_path
        end_everything(tmp_path)
