"""What the tests of formats share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pellucid import settings
from tests.formats.s3_server import S3Server, start_s3


@pytest.fixture(scope="session")
def s3_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One server for the whole run."""
    with start_s3(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_process: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with an environment that points at it."""
    for name, value in s3_process.environment.items():
        monkeypatch.setenv(name, value)
    return s3_process


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path) -> Iterator[Path]:
    """Never the person's own cache. It is made when something is put into it."""
    folder = tmp_path.with_name(f"{tmp_path.name}-cache")
    with settings.use(settings.load(cache_folder=folder)):
        yield folder
