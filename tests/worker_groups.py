"""Which tests share a worker process when the suite runs in several.

Here: the pytest plugin that groups tests, puts the slowest groups first, and schedules one group after another.
Not here: how many workers there are (Makefile), what the run took (suite_report).

The tests of a file share a worker, because they share its fixtures. All files that need a cluster, a Hub or an account
of this machine share one worker: there is one cluster and one Hub in a run, and only one program at a time can add an
account. Those with a browser share another, because a browser is slow to start, and so do
those with Spark. Those that build in the source tree share a fourth: two builds at once would write the same files.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests.shared_browser import uses_browser

CLUSTER = "cluster"
CLUSTER_FIXTURES = frozenset({"slurm_cluster", "hub", "stranger"})
USES_CLUSTER = re.compile(r"\b(SlurmCluster|RunningHub|Person|useradd|stranger)\b")
"""What a file contains that uses one of these fixtures, or that adds an account."""

SPARK = "spark"
USES_SPARK = re.compile(r"\bSparkContext\b")

BROWSER = "browser"
USES_BROWSER = re.compile(r"\bplaywright\b")
"""What a file contains that uses the browser: its types, in annotations."""

BUILDS = "builds"
BUILDERS = ("tests/clients/", "tests/test_distribution.py")

SLOW_FOLDERS = ("agent", "web", "clients", "instance", "client", "tomo", "rendering")


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for another process, which reports them."""
    return hasattr(config, "workerinput")


@cache
def group_of(root: Path, path: str) -> str:
    """The group of the tests in a file, which is named from the root.

    >>> group_of(Path(), "tests/clients/test_c.py"), group_of(Path(), "src/pellucid/box.py")
    ('builds', 'src/pellucid/box.py')
    """
    if path.startswith(BUILDERS):
        return BUILDS
    if not Path(path).name.startswith("test_"):
        return path
    text = (root / path).read_text()
    patterns = {CLUSTER: USES_CLUSTER, SPARK: USES_SPARK, BROWSER: USES_BROWSER}
    return next((group for group, pattern in patterns.items() if pattern.search(text)), path)


def rank_of(path: str) -> int:
    """Files with a low rank start first, so that no worker has a slow one left when the others are done.

    >>> [rank_of(path) for path in ("tests/agent/test_agent_page.py", "tests/test_box.py", "src/pellucid/box.py")]
    [0, 7, 8]
    """
    folder, _, rest = path.partition("/")
    layer = rest.partition("/")[0]
    if folder == "tests" and layer in SLOW_FOLDERS:
        return SLOW_FOLDERS.index(layer)
    return len(SLOW_FOLDERS) + (folder == "src")


def _path_in(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _path_of(item: pytest.Item) -> str:
    return _path_in(item.nodeid)


def _order(group: str, path: str) -> tuple[int, int]:
    """The groups of many files come first, one for each worker."""
    many = (CLUSTER, SPARK, BROWSER, BUILDS)
    return many.index(group) if group in many else len(many), rank_of(path)


def _hidden(path: str, resource: str, pattern: str) -> str:
    return (
        f"{path} uses the {resource}, and nothing in it matches {pattern} in tests/worker_groups.py. "
        "Annotate the fixture with its type."
    )


class GroupScheduling(LoadFileScheduling):  # type: ignore[misc]
    """One group of tests after another, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(self.config.rootpath, _path_in(nodeid))


class WorkerGroups:
    """The hooks; those that start with pytest_xdist exist where there are workers only."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        groups = {path: group_of(config.rootpath, path) for path in map(_path_of, items)}
        for item in items:
            group = groups[_path_of(item)]
            if CLUSTER_FIXTURES & {*getattr(item, "fixturenames", ())} and group != CLUSTER:
                raise pytest.UsageError(_hidden(_path_of(item), "cluster", "USES_CLUSTER"))
            if "spark" in getattr(item, "fixturenames", ()) and group not in (CLUSTER, SPARK):
                raise pytest.UsageError(_hidden(_path_of(item), "Spark", "USES_SPARK"))
            if uses_browser(item) and group not in (CLUSTER, BROWSER):
                raise pytest.UsageError(_hidden(_path_of(item), "browser", "USES_BROWSER"))
        if is_worker(config):
            items.sort(key=lambda item: _order(groups[_path_of(item)], _path_of(item)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> GroupScheduling:
        config.option.loadscopereorder = False  # The rank decides, not the number of tests.
        return GroupScheduling(config, log)
