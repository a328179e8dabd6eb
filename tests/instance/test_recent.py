"""Recent files: remembered for the user who opened them, and shown to nobody else."""

import base64
import io
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pellucid.instance.lifecycle.recent_files import MAX_FILES, RecentFileStore
from pellucid.instance.server import Instance
from pellucid.volume.sample_volume import sample
from tests.instance.loopback import http, open_page, running


@pytest.fixture
def store(tmp_path: Path) -> RecentFileStore:
    return RecentFileStore(tmp_path / "recent" / "files.json")


@pytest.fixture
def empty(folder: Path, store: RecentFileStore) -> Iterator[Instance]:
    """A viewer that shows nothing yet, and whose user named no folders."""
    with running(None, folder, opens_recent=True) as started:
        started.session.recent = store
        yield started


def recent(instance: Instance) -> dict[str, Any]:
    with http(instance) as client:
        found: dict[str, Any] = client.get("/api/recent").raise_for_status().json()
    return found


def test_the_latest_comes_first_and_each_file_once(store: RecentFileStore) -> None:
    for number in (*range(MAX_FILES + 3), 5):
        store.add(f"/scans/{number}.npy")
    names = [one.source for one in store.read().files]
    assert names == [f"/scans/{number}.npy" for number in (5, 14, 13, 12, 11, 10, 9, 8, 7, 6, 4, 3)]
    store.clear()
    assert store.read().files == ()


def test_only_the_owner_can_read_the_file(store: RecentFileStore, tmp_path: Path) -> None:
    store.add("/scans/rock.npy")
    path = tmp_path / "recent" / "files.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.write_text("{damaged")
    assert store.read().files == ()


def test_the_first_image_becomes_the_thumbnail_and_later_ones_do_not(store: RecentFileStore) -> None:
    store.add("/scans/rock.npy")
    red, blue = (np.full((90, 160, 4), color, np.uint8) for color in ((200, 0, 0, 255), (0, 0, 200, 255)))
    store.set_image("/scans/rock.npy", red)
    store.set_image("/scans/rock.npy", blue)
    (file,) = store.read().files
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(file.thumbnail))))
    assert image.shape == (120, 160, 3)
    assert np.abs(image.reshape(-1, 3).mean(axis=0) - (200, 0, 0)).max() < 4


def test_an_opened_file_is_listed_with_an_image_and_the_folder_is_remembered(empty: Instance, folder: Path) -> None:
    with http(empty) as client, open_page(empty) as page:
        client.get("/api/files", params={"folder": str(folder / "below")}).raise_for_status()
        revision = (
            client.post("/api/load", json={"path": str(folder / "ball.npy")}).raise_for_status().json()["revision"]
        )
        page.exact(revision)
        while not (found := recent(empty))["files"][0]["thumbnail"]:
            pass
    (file,) = found["files"]
    assert (file["path"], file["name"], file["folder"]) == (str(folder / "ball.npy"), "ball.npy", str(folder))
    assert file["thumbnail"].startswith("data:image/jpeg;base64,")
    assert found["folder"] == str(folder / "below")


def test_share_links_show_no_recent_files_whatever_they_allow(empty: Instance, folder: Path) -> None:
    empty.session.recent.add(str(folder / "ball.npy"))
    empty.session.recent.set_folder(str(folder))
    share = empty.session.access.share("own")
    with http(empty) as client:
        client.headers["Authorization"] = f"Bearer {share.secret}"
        assert client.get("/api/recent").json() == {"files": [], "folder": ""}
        assert client.delete("/api/recent").status_code == 403
    assert len(recent(empty)["files"]) == 1
    for capability in ("view", "control"):
        with http(empty, capability) as client:
            assert client.get("/api/recent").status_code == 403


def test_a_recent_file_outside_the_roots_is_opened_by_its_owner_alone(empty: Instance, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "rock.npy"
    path.parent.mkdir()
    np.save(path, sample(8))
    np.save(path.with_name("other.npy"), sample(8))
    empty.session.recent.add(str(path))
    share = empty.session.access.share("own")
    with http(empty) as owner, http(empty) as guest:
        guest.headers["Authorization"] = f"Bearer {share.secret}"
        assert guest.post("/api/load", json={"path": str(path)}).status_code == 403
        assert owner.post("/api/load", json={"path": str(path.with_name("other.npy"))}).status_code == 403
        assert owner.post("/api/load", json={"path": str(path)}).status_code == 200
    path.unlink()
    assert recent(empty)["files"] == []


def test_where_the_user_named_folders_recent_files_outside_them_are_not_opened(
    empty: Instance, tmp_path: Path, folder: Path
) -> None:
    np.save(tmp_path / "rock.npy", sample(8))
    empty.session.opens_recent = False
    for path in (tmp_path / "rock.npy", folder / "ball.npy"):
        empty.session.recent.add(str(path))
    assert [one["name"] for one in recent(empty)["files"]] == ["ball.npy"]
    with http(empty) as client:
        assert client.post("/api/load", json={"path": str(tmp_path / "rock.npy")}).status_code == 403
        client.delete("/api/recent").raise_for_status()
    assert recent(empty)["files"] == []


def test_the_sample_is_shown_and_is_no_recent_file(empty: Instance) -> None:
    with http(empty) as client:
        client.post("/api/sample", json={"how": "replace"}).raise_for_status()
        (layer,) = client.get("/api/scene").json()["layers"]
    assert (layer["name"], layer["shape"], layer["dtype"]) == ("Sample.npy", [128, 128, 128], "uint16")
    assert recent(empty)["files"] == []
