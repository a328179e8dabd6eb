"""A Hub for the whole run, with two people who know nothing of each other."""

from collections.abc import Iterator

import pytest

from tests.agent.fake_scheduler import scheduler  # noqa: F401
from tests.agent.hub_site import Person, RunningHub, running_hub
from tests.slurm_cluster import SlurmCluster, can_run
from tests.suite_report import MACHINE


@pytest.fixture(scope="session")
def hub(request: pytest.FixtureRequest) -> Iterator[RunningHub]:
    """With Slurm where this machine has it."""
    if MACHINE["no-hub"]():
        pytest.skip("needs root and a Python for everybody")
    environment: dict[str, str] = {}
    if can_run():
        cluster: SlurmCluster = request.getfixturevalue("slurm_cluster")
        environment = cluster.environment
    with running_hub(**environment) as started:
        yield started


@pytest.fixture(scope="session")
def ada(hub: RunningHub) -> Person:
    return hub.person("ada")


@pytest.fixture(scope="session")
def bob(hub: RunningHub) -> Person:
    return hub.person("bob")
