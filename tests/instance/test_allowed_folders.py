"""Files inside the roots that name files outside: neither a page nor a saved state leads there."""

import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from pellucid.errors import InvalidInput, NotAllowed
from pellucid.instance.access.roots import Roots
from pellucid.instance.server import Instance
from tests.instance.loopback import http, running

VOXELS = np.arange(27, dtype=np.uint8).reshape(3, 3, 3)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["d"] = VOXELS
    (tmp_path / "secret.raw").write_bytes(VOXELS.tobytes())
    return tmp_path


def write_files(folder: Path, secret: Path) -> list[str]:
    """A link, a virtual dataset, external storage and a detached header, all of which lead to the secret."""
    names = [folder / name for name in ("link.h5", "virtual.h5", "stored.h5", "detached.nhdr")]
    with h5py.File(names[0], "w") as file:
        file["v"] = h5py.ExternalLink(str(secret / "secret.h5"), "/d")
    layout = h5py.VirtualLayout(VOXELS.shape, VOXELS.dtype)
    layout[...] = h5py.VirtualSource(str(secret / "secret.h5"), "d", VOXELS.shape)
    with h5py.File(names[1], "w") as file:
        file.create_virtual_dataset("v", layout)
    with h5py.File(names[2], "w") as file:
        file.create_dataset("v", VOXELS.shape, VOXELS.dtype, external=[(str(secret / "secret.raw"), 0, VOXELS.nbytes)])
    header = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 3 3 3\nencoding: raw\n"
    names[3].write_text(f"{header}data file: {os.path.relpath(secret, folder)}/secret.raw\n")
    return [str(name) for name in names]


def test_a_page_reads_nothing_outside_the_roots(instance: Instance, folder: Path, secret: Path) -> None:
    names = write_files(folder, secret)
    try:
        with http(instance) as client:
            for name in names:
                answer = client.post("/api/load", json={"path": name})
                assert answer.status_code == 403, answer.text
                assert "outside the allowed folders" in answer.json()["what"]
                facts = client.get("/api/files/info", params={"path": name}).json()
                assert facts["shape"] == [] or facts["shape"] is None, facts
                assert "outside the allowed folders" in facts["problem"]
    finally:
        for name in names:
            Path(name).unlink()


def test_what_the_owner_opens_by_name_is_read(secret: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("root")
    with running(str(secret / "secret.h5"), root) as instance, http(instance) as client:
        assert client.get("/api/scene").json()["layers"][0]["shape"] == [3, 3, 3]
        assert client.post("/api/load", json={"path": str(secret / "secret.h5")}).status_code == 403


def test_a_state_does_not_lead_upwards(secret: Path, instance: Instance, tmp_path: Path) -> None:
    with http(instance) as client:
        state = client.get("/api/state").json()
    upwards = f"{tmp_path}/below/../secret.h5"
    state["scene"]["volumes"][0]["source"] = upwards
    (tmp_path / "state.json").write_text(json.dumps(state))
    saved = str(tmp_path / "state.json")
    with pytest.raises(InvalidInput, match="leaves its folder"), running(None, tmp_path / "below", state=saved):
        pass


@pytest.mark.parametrize("name", ["{root}/a.zarr:/../../b.zarr", "s3://bucket/a.zarr:/../c", "s3://bucket/a/.."])
def test_names_with_dots_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="is outside the folders"):
        Roots([tmp_path, "s3://bucket/a.zarr", "s3://bucket/a"]).require_allowed(name.format(root=tmp_path))
