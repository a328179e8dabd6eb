"""The person's files: what is shown, fetched and written, and what lies outside."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from pellucid.agent.files.listing import UserFiles, zip_stream
from pellucid.device.hardware import count_gpus
from pellucid.errors import InvalidInput, NotAllowed, NotFound, OutputExists
from pellucid.volume.sample_volume import sample
from tests.agent.processes import agent
from tests.waiting import wait_until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a scan, something secret beside it, and links that lead there."""
    folder = tmp_path / "mine"
    (folder / "below").mkdir(parents=True)
    np.save(folder / "ball.npy", sample(8))
    (tmp_path / "secret.txt").write_text("of somebody else")
    (tmp_path / "elsewhere").mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "below/out").symlink_to(tmp_path / "elsewhere")
    (folder / ".hidden").write_text("")
    return folder


def test_a_folder_is_listed_folders_first(root: Path) -> None:
    listed = UserFiles((str(root),)).list_folder("")
    assert (listed.path, listed.root, listed.parent, listed.can_write) == (str(root), str(root), None, True)
    assert [(one.name, one.kind, one.size) for one in listed.entries[:2]] == [
        ("below", "folder", None),
        ("ball.npy", "volume", (root / "ball.npy").stat().st_size),
    ]
    below = UserFiles((str(root),)).list_folder(str(root / "below"))
    assert below.parent == str(root)


def test_several_roots_are_a_list_and_variables_are_filled_in(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA", str(root))
    files = UserFiles(("$DATA", str(root / "below")))
    top = files.list_folder("")
    assert [one.path for one in top.entries] == [str(root), str(root / "below")]
    assert files.list_folder(str(root)).parent == ""
    assert files.list_folder(str(root / "below")).parent == ""


def test_a_folder_says_whether_its_files_are_a_scan_or_a_volume(root: Path) -> None:
    slices = [root / "below" / f"slice_{number:03d}.tif" for number in range(3)]
    for path in slices:
        path.write_bytes(b"")  # Only names count: no file is opened for this.
    files = UserFiles((str(root),))
    listed = files.list_folder(str(root / "below"))
    assert (listed.is_scan, listed.is_stack) == (False, True)
    for name in ("flat_001.tif", "dark_001.tif"):
        (root / "below" / name).write_bytes(b"")
    listed = files.list_folder(str(root / "below"))
    assert (listed.is_scan, listed.is_stack) == (True, False)
    top = files.list_folder(str(root))
    assert (top.is_scan, top.is_stack) == (False, False)


OUTSIDE = ["{top}/secret.txt", "{root}/../secret.txt", "{root}/link.txt", "{root}/below/out", "/etc/passwd", "/"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_lies_outside_is_refused(path: str, root: Path) -> None:
    files = UserFiles((str(root),))
    path = path.format(top=root.parent, root=root)
    with pytest.raises(NotAllowed, match="outside the folders"):
        files.require_existing(path)
    with pytest.raises(NotAllowed):
        files.list_folder(path)
    with pytest.raises(NotAllowed):
        files.new_file_path(path, "new.txt")


@pytest.mark.parametrize("path", ["ball.npy", "{root}/none", "{root}/a\0b", ""])
def test_what_is_no_path_is_not_found(path: str, root: Path) -> None:
    with pytest.raises(NotFound):
        UserFiles((str(root),)).require_existing(path.format(root=root))


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\0", "a\nb", "\x1b[2J", "x" * 201])
def test_a_name_cannot_lead_away(name: str, root: Path) -> None:
    with pytest.raises(InvalidInput, match="not a valid file name"):
        UserFiles((str(root),)).new_file_path(str(root), name)


def test_what_is_there_is_not_written_over(root: Path) -> None:
    files = UserFiles((str(root),))
    with pytest.raises(OutputExists):
        files.new_file_path(str(root), "ball.npy")
    assert files.new_file_path(str(root), "ball.npy", overwrite=True) == root / "ball.npy"
    with pytest.raises(NotAllowed):
        files.new_file_path(str(root), "link.txt", overwrite=True)
    with pytest.raises(OutputExists):
        files.new_file_path(str(root), "below", overwrite=True)


def test_links_are_not_packed(root: Path) -> None:
    content = b"".join(zip_stream(root))
    assert b"mine/ball.npy" in content and b"link.txt" not in content and b"of somebody else" not in content


def test_a_folder_that_cannot_be_read_ends_the_packing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("below"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        b"".join(zip_stream(root))


def test_the_routes_keep_to_it_and_a_broken_upload_leaves_nothing(root: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    os.mkfifo(root / "pipe")
    with agent(tmp_path / "state", f'roots = ["{root}"]') as running:
        for path in OUTSIDE:
            where = path.format(top=root.parent, root=root)
            for route in ("files?folder", "files/content?path", "files/info?path"):
                answer = running.client.get(f"/api/{route}={where}")
                assert answer.status_code == 403 and "somebody else" not in answer.text, (route, where)
        assert running.client.get(f"/api/files/content?path={root}/pipe").status_code == 404
        request = {"folder": str(root), "name": "new.bin"}
        assert running.ask("PUT", "/api/files/content", params=request, content=b"12345")["size"] == 5
        assert running.client.put("/api/files/content", params=request, content=b"6").status_code == 400
        broken = httpx.Client(base_url=running.base, headers={"Authorization": f"Bearer {running.token}"})

        def cut_off() -> Iterator[bytes]:
            yield b"half"
            raise ConnectionAbortedError

        with pytest.raises(ConnectionAbortedError):
            broken.put("/api/files/content", params=request | {"name": "half.bin"}, content=cut_off())
        facts = running.ask("GET", f"/api/files/info?path={root}/ball.npy")
        assert facts["volumes"][0]["shape"] == [8, 8, 8] and facts["scan"] is None
        assert facts["estimate"]["gpus"] == min(1, count_gpus())
        refused = running.client.get(f"/api/files/info?path={root}/new.bin")
        assert refused.status_code == 400 and "new.bin" in refused.json()["what"]
        wait_until(lambda: not [path for path in root.iterdir() if path.name.endswith(".partial")])
        assert not (root / "half.bin").exists()
