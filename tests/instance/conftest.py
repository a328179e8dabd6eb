"""A real instance on a free port, with a real Worker, served from a thread."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pellucid import progress
from pellucid.client.viewer import Viewer
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.instance.server import Instance
from pellucid.rendering.renderer import Renderer
from pellucid.volume.sample_volume import sample
from tests.instance.loopback import running

EDGE = 24


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a volume, points, a mesh, and things that cannot be opened."""
    folder = tmp_path_factory.mktemp("scans")
    np.save(folder / "ball.npy", sample(EDGE))
    np.save(folder / "labels.npy", (sample(EDGE) > 20_000).astype(np.uint8))
    (folder / "cloud.csv").write_text("x,y,z,value\n0,0,0,1\n10,0,0,2\n0,10,5,3\n")
    (folder / "notes.txt").write_text("nothing to see")
    (folder / "below").mkdir()
    np.save(folder / "below" / "deep-ball.npy", sample(8))
    return folder


@pytest.fixture(scope="session")
def source(folder: Path) -> str:
    return str(folder / "ball.npy")


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return Renderer(choose("cpu"))


@pytest.fixture(scope="module")
def instance(source: str, folder: Path) -> Iterator[Instance]:
    """Shared by the tests of a module: none may count on the revision."""
    with running(source, folder) as started:
        yield started


@pytest.fixture(scope="module")
def beamline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an instance that shows nothing yet."""
    return tmp_path_factory.mktemp("beamline")


@pytest.fixture(scope="module")
def empty_instance(beamline: Path) -> Iterator[Instance]:
    """One that shows nothing yet."""
    with running(None, beamline) as started:
        yield started


@pytest.fixture
def fresh(source: str, folder: Path) -> Iterator[Instance]:
    with running(source, folder) as started:
        yield started


@pytest.fixture
def viewer(instance: Instance) -> Viewer:
    """The instance, as a program has it."""
    return Viewer(instance.url)


@pytest.fixture
def silence() -> Iterator[None]:
    with progress.use(progress.Silent()):
        yield


@pytest.fixture(scope="session")
def ball() -> Voxels:
    return np.ascontiguousarray(sample(EDGE))


@pytest.fixture(scope="session")
def large() -> Voxels:
    """Many pieces, 24 MiB."""
    shape = (6, 1024, 1024)
    return np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
