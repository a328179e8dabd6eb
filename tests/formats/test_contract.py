"""The contract suite on every writable format."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pellucid import settings
from pellucid.formats import registry
from tests.contracts.formats import FORMATS, FormatContract


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with settings.use(settings.load(cache_folder=tmp_path_factory.mktemp("cache"))):
        yield


class TestContract(FormatContract):
    """Every row of FORMATS."""


def test_every_writable_format_has_a_row(tmp_path: Path) -> None:
    rows = {registry.format_for_writing(case.location(tmp_path)) for case in FORMATS}
    assert rows == set(registry.writable_formats())
