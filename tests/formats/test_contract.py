"""The contract suite on every writable format."""

from pathlib import Path

from pellucid.formats import registry
from tests.contracts.formats import FORMATS, RefusalContract, VoxelContract


class TestVoxels(VoxelContract):
    """Every row of FORMATS."""


class TestRefusals(RefusalContract):
    """Every row of FORMATS."""


def test_every_writable_format_has_a_row(tmp_path: Path) -> None:
    rows = {registry.format_for_writing(case.location(tmp_path)) for case in FORMATS}
    assert rows == set(registry.writable_formats())
