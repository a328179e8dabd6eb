"""What the page needs from the instance for files that it brings along, or that have no header.

Here: folders that are uploaded, the slice of a raw file.
Not here: single files, and what becomes of them (test_sources).
"""

import io
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from pellucid.instance.server import Instance
from pellucid.volume.sample_volume import sample
from pellucid.volume.slice_sheet import grey_levels, grey_window
from tests.instance.conftest import EDGE
from tests.instance.loopback import http

VOXELS = sample(EDGE)


def test_a_folder_is_brought_along(instance: Instance) -> None:
    id = "0123456789abcdef" * 2
    with http(instance) as client:
        for number in range(3):
            stream = io.BytesIO()
            tifffile.imwrite(stream, VOXELS[number])
            reply = client.put(
                "/api/upload", params={"name": f"my scan/{number}.tif", "folder_id": id}, content=stream.getvalue()
            )
        path = Path(reply.json()["path"])
        assert path.is_relative_to(instance.session.tasks.folder) and path.parent.name == "my_scan"
        assert client.post("/api/load", json={"path": str(path.parent)}).status_code == 200
        assert client.get("/api/scene").json()["layers"][0]["shape"] == [3, EDGE, EDGE]
        for name in ("../x.tif", "a//x.tif", "a/./x.tif", "/x.tif", "/".join("a" * 20)):
            refused = client.put("/api/upload", params={"name": name, "folder_id": id}, content=b"x")
            assert refused.status_code == 422 or "Invalid path" in refused.json()["what"], name
        wrong = client.put("/api/upload", params={"name": "a/x.tif", "folder_id": "../.."}, content=b"x")
        assert wrong.status_code >= 400


def test_the_middle_slice_of_a_raw_file_shows_whether_its_shape_is_right(instance: Instance, folder: Path) -> None:
    path = folder / "below" / "ramp.raw"
    voxels = np.arange(6 * 500 * 800, dtype="<u2").reshape(6, 500, 800)
    voxels.tofile(path)
    with http(instance) as client:
        reply = client.get("/api/files/slice", params={"path": f"{path}:shape=6,500,800,dtype=uint16"})
        assert reply.headers["content-type"] == "image/png"
        shown = np.asarray(Image.open(io.BytesIO(reply.content)))
        middle = voxels[3, ::3, ::3]
        np.testing.assert_array_equal(shown, grey_levels(middle, *grey_window(middle)))
        missing = client.get("/api/files/slice", params={"path": str(path)})
        assert missing.status_code >= 400 and missing.json()["remedy"]
        huge = client.get("/api/files/slice", params={"path": "/etc/passwd"})
        assert huge.status_code >= 400
