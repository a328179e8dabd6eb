"""A second try for tests that need other processes, sockets or a browser.

Here: the pytest plugin that lets the tests of some layers fail once.
Not here: running them again (pytest-rerunfailures), the rest of the summary (suite_report).

What such a test waits for is in the hands of the system: a port is taken, a packet is late, a browser drops a frame. A
fault of ours shows again in the second try, and fails the run. What passed at the second try is listed at the end as
RERUN: look at it when the same test turns up there again.
"""

import pytest

from tests.suite_report import layer_of

LAYERS = frozenset(
    {"agent", "cli", "client", "clients", "instance", "jobs", "transport", "web", "workers", "examples", "house"}
)
"""Those whose tests start processes. Tests that only compute get no second try."""


class SecondTry:
    """The hook."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if layer_of(item.nodeid.partition("::")[0]) in LAYERS:
                item.add_marker(pytest.mark.flaky(reruns=1))
