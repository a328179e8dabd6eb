"""Fixtures that every test may use, and the report that closes the run.

Here: registration of the suite's report, and where real scans are.
Not here: what a layer's own tests share (a conftest in its folder).
"""

import os
from pathlib import Path

import pytest

from tests.suite_report import ROOT, Limits, SuiteReport, shared_data_folder


def pytest_configure(config: pytest.Config) -> None:
    # Registered as a plugin of its own: hooks of this file would not see the examples in src's docstrings.
    times = os.environ.get("SUITE_TIMES")
    report = SuiteReport(Limits.read(ROOT / "tests" / "limits.toml"), ROOT / times if times else None)
    config.pluginmanager.register(report, "suite-report")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real scans; a test that needs it is skipped where it is absent."""
    folder = shared_data_folder()
    if not folder.is_dir():
        pytest.skip("shared data absent")
    return folder
