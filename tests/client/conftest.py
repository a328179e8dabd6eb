"""A real viewer in a process of its own, shared by the tests that leave it running."""

from collections.abc import Iterator

import numpy as np
import pytest

import pellucid
from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample

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
