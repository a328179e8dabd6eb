"""What the tests of formats share."""

from collections.abc import Iterator
from pathlib import Path

import hdf5plugin  # noqa: F401  Before test_netcdf imports netCDF4, whose own Blosc would fail in h5py from then on.
import pytest

from pellucid import settings


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path) -> Iterator[Path]:
    """Never the person's own cache. It is made when something is put into it."""
    folder = tmp_path.with_name(f"{tmp_path.name}-cache")
    with settings.use(settings.load(cache_folder=folder)):
        yield folder
