"""Real scans that are too large for the repository."""

from pathlib import Path

import pytest

from tests.suite_report import shared_data_folder


def shared(name: str) -> Path:
    """The path of a real scan; the test is skipped where it is absent."""
    path = shared_data_folder() / name
    if not path.exists():
        pytest.skip(f"shared data absent: {name}")
    return path
