"""A lock is held by one process, and ends with its descriptor."""

import os
from pathlib import Path

import pytest

from pellucid.jobs.file_locks import is_locked, lock, open_lock, try_lock


def test_a_lock_is_held_once_and_ends_with_its_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = open_lock(path), open_lock(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not is_locked(path)
    lock(first)
    assert is_locked(path)
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)
    assert not is_locked(path)


def test_a_lock_is_made_in_an_open_folder_and_never_through_a_link(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    os.close(open_lock("lock", folder))
    assert (tmp_path / "lock").is_file()
    (tmp_path / "link").symlink_to("lock")
    with pytest.raises(OSError, match="link"):
        open_lock("link", folder)
    os.close(folder)


def test_a_file_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        is_locked(tmp_path / "lock")
    assert list(tmp_path.iterdir()) == []
