"""An output grows where nobody else can put anything, and never through a link that somebody else put there."""

import os
from pathlib import Path

import pytest

from pellucid.engines.partial_output import PartialOutput
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import written_whole
from pellucid.formats.location import Location
from pellucid.formats.neural_field.container import write_file


def test_only_its_owner_may_enter_the_folder_of_a_growing_output(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with PartialOutput(Location(str(tmp_path / "new" / "a.raw")), overwrite=False) as partial:
            assert partial.folder.stat().st_mode & 0o777 == 0o700
            assert (tmp_path / "new").stat().st_mode & 0o777 == 0o775
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_change_is_not_gone_on_with(tmp_path: Path, mode: int) -> None:
    remains = tmp_path / "a.raw.partial"
    remains.mkdir()
    (remains / "lock").touch()
    remains.chmod(mode)
    with (
        pytest.raises(InvalidInput, match="others may write into it"),
        PartialOutput(Location(str(tmp_path / "a.raw")), overwrite=False),
    ):
        pass
    assert [entry.name for entry in remains.iterdir()] == ["lock"]


def test_a_folder_of_another_user_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remains = tmp_path / "a.raw.partial"
    remains.mkdir(mode=0o700)
    (remains / "lock").touch()
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with (
        pytest.raises(InvalidInput, match="belongs to another user"),
        PartialOutput(Location(str(tmp_path / "a.raw")), overwrite=False),
    ):
        pass


def test_a_link_in_place_of_the_folder_or_of_its_lock_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "lock").touch()
    (tmp_path / "a.raw.partial").symlink_to(elsewhere)
    with (
        pytest.raises(InvalidInput, match="others may write"),
        PartialOutput(Location(str(tmp_path / "a.raw")), overwrite=False),
    ):
        pass


def test_a_file_is_written_whole_or_not_at_all_and_through_no_link(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_bytes(b"precious")
    target = tmp_path / "a.plf"
    for name in (".a.plf.partial", f".a.plf.part{os.getpid()}"):
        (tmp_path / name).symlink_to(mine)
    write_file(target, {}, {})
    assert mine.read_bytes() == b"precious"
    whole = target.read_bytes()
    with pytest.raises(RuntimeError), written_whole(target) as file:
        file.write(b"half")
        raise RuntimeError
    assert target.read_bytes() == whole
    assert {path.name for path in tmp_path.iterdir() if not path.is_symlink()} == {"mine", "a.plf"}


def test_a_file_has_the_mode_that_the_user_set_for_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with written_whole(tmp_path / ("x" * 255)) as file:
            file.write(b"all")
    finally:
        os.umask(before)
    (found,) = tmp_path.iterdir()
    assert found.name == "x" * 255
    assert found.stat().st_mode & 0o777 == 0o640
