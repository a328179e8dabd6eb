"""Two Device Workers on this machine, started once for all tests of a file that use them."""

from collections.abc import Iterator

import pytest

from pellucid.cluster.group import WorkerGroup


@pytest.fixture(scope="module")
def group() -> Iterator[WorkerGroup]:
    """Used as context: new blocks go to its Workers in turn."""
    with WorkerGroup.local(2, threads=1, memory_bytes=256 * 2**20) as started:
        yield started
