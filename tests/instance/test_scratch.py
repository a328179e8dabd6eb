"""Where temporary files and Unix sockets are, whatever TMPDIR is."""

import socket
import tempfile
from pathlib import Path

import pytest

from pellucid.errors import InvalidInput
from pellucid.instance.lifecycle import scratch_folders


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """TMPDIR, with a path in which no Unix socket can be."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(scratch_folders._State, "roots", {})
    return folder


def test_sockets_have_short_paths_and_files_are_where_they_should_be(long: Path) -> None:
    folder = scratch_folders.socket_folder()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(folder / "arrays.socket"))
    assert folder.stat().st_mode & 0o077 == 0 and not folder.is_relative_to(long)
    assert scratch_folders.scratch_folder().is_relative_to(long)


def test_the_longest_parent_leaves_room_for_a_socket() -> None:
    name = f"/{scratch_folders.PREFIX}{'0' * 16}/{10**4}/arrays.socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one, pytest.raises(FileNotFoundError):  # Not: too long.
        one.connect("/" + "x" * (scratch_folders.MAX_PARENT_BYTES - 1) + name)


def test_a_path_that_is_short_enough_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    assert scratch_folders.short_parent() == Path("/dev/shm")


def test_without_any_short_folder_the_error_says_what_to_do(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_folders, "SHORT_PARENTS", ("/nowhere",))
    with pytest.raises(InvalidInput, match=r"too long for Unix sockets.*Set TMPDIR to a folder"):
        scratch_folders.socket_folder()
