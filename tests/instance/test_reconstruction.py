"""From a scan to a volume, over HTTP: settings are tried, the volume is made as a task, and the line repeats it."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import h5py
import httpx
import numpy as np
import pytest
import tifffile
from PIL import Image
from websockets.sync.client import connect

from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.instance.protocol.shared_types import VERSION, Capability
from pellucid.instance.server import Instance
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.slice_sheet import grey_levels
from pellucid.volume.volume import open_volume
from tests.instance.loopback import Page, address, begun, http, open_page, proved
from tests.tomo.small_scan import AXIS, COLUMNS, MU_PER_CM, PIXEL_UM, inside, write_scan
from tests.waiting import TIMEOUT_S, wait_until

OPTIONS = {"projections": "", "flats": "", "darks": "", "angles": "", "pixel_size_um": PIXEL_UM, "is_repaired": True}


@pytest.fixture(scope="module")
def scan(beamline: Path) -> str:
    return str(write_scan(beamline / "scan.h5", rows=6))


@pytest.fixture(scope="module")
def recipe(empty_instance: Instance, scan: str) -> dict[str, Any]:
    with http(empty_instance) as client:
        reply = client.post("/api/scans/describe", json={"path": scan, "options": OPTIONS}).json()
    return {**reply["recipe"], "center": AXIS}


def tried(client: httpx.Client, **request: object) -> tuple[dict[str, Any], Voxels]:
    answer = client.post("/api/scans/preview", json=request)
    assert answer.status_code == 200, answer.text
    length = int.from_bytes(answer.content[:4], "little")
    header = json.loads(answer.content[4 : 4 + length])
    return header, np.asarray(Image.open(io.BytesIO(answer.content[4 + length :])))


def test_a_scan_is_recognised_and_described(empty_instance: Instance, scan: str) -> None:
    with http(empty_instance) as client:
        facts = client.get("/api/files/info", params={"path": scan}).json()
        assert (facts["is_scan"], facts["shape"]) == (True, [72, 6, COLUMNS])
        reply = client.post("/api/scans/describe", json={"path": scan}).json()
    assert (reply["projections"], reply["flats"], reply["darks"], reply["kind"]) == (72, 3, 2, "Data Exchange")
    assert reply["output"] == scan.replace(".h5", ".zarr")
    assert "vo-all" in reply["choices"]["rings"]


def test_a_folder_of_pictures_is_a_scan_and_the_one_around_it_is_not(empty_instance: Instance, beamline: Path) -> None:
    folder = beamline / "several" / "pictures"
    folder.mkdir(parents=True)
    names = ["flat_0.tif", "dark_0.tif", *(f"view_{number}.tif" for number in range(6))]
    for number, name in enumerate(names):
        tifffile.imwrite(folder / name, np.full((4, 8), 1000 - number, np.uint16))
    (folder / "angles.txt").write_text("\n".join(str(30 * number) for number in range(6)))
    with http(empty_instance) as client:
        reply = {
            path: client.get("/api/files", params={"folder": str(path)}).json() for path in (folder, folder.parent)
        }
        assert (reply[folder]["is_scan"], reply[folder.parent]["is_scan"]) == (True, False)
        facts = client.post("/api/scans/describe", json={"path": str(folder)}).json()
    assert (facts["projections"], facts["kind"], facts["output"]) == (6, "TIFF folder", f"{folder}.zarr")


def test_what_a_plain_file_might_be(empty_instance: Instance, beamline: Path) -> None:
    path = beamline / "plain.h5"
    with h5py.File(path, "w") as file:
        file["images"], file["theta"] = np.zeros((8, 4, 6), np.uint16), np.arange(8.0)
    with http(empty_instance) as client:
        facts = client.get("/api/files/info", params={"path": str(path)}).json()
        assert (facts["is_scan"], facts["may_be_scan"], facts["shape"]) == (False, True, [8, 4, 6])
        reply = client.get("/api/scans/datasets", params={"path": str(path)}).json()
        refused = client.get("/api/scans/datasets", params={"path": "/etc/hosts"})
    assert reply["frames"] == [{"name": "/images", "shape": [8, 4, 6]}]
    assert (reply["options"]["projections"], reply["options"]["angles"]) == ("/images", "/theta")
    assert refused.status_code == 403


def test_a_slice_is_the_librarys_own(empty_instance: Instance, scan: str, recipe: dict[str, Any]) -> None:
    own = SlicePreview(open_scan(scan, ScanOptions(pixel_size_um=PIXEL_UM)), choose("cpu")).slice(
        3, Recipe(center=AXIS)
    )
    request = {"path": scan, "options": OPTIONS, "recipe": recipe, "index": 3}
    with http(empty_instance) as client:
        header, pixels = tried(client, place="slice", **request)
        assert np.array_equal(pixels, grey_levels(own, header["low"], header["high"]))
        assert (header["unit"], header["center"], header["encoding"]) == ("1/cm", AXIS, "png")
        header, pixels = tried(client, place="before", window=[0.0, 2 * MU_PER_CM], is_moving=True, **request)
        assert inside(pixels).mean() == pytest.approx(127.5, abs=4)
        assert header["encoding"] == "jpeg"
        assert tried(client, place="sinogram", **request)[1].shape == (72, COLUMNS)
        assert tried(client, place="projection", **request)[1].shape == (6, COLUMNS)


def test_the_axis_is_looked_for_beside_trials(empty_instance: Instance, scan: str, recipe: dict[str, Any]) -> None:
    request = {"path": scan, "options": OPTIONS, "recipe": {**recipe, "center": "auto"}}
    with http(empty_instance) as client:
        assert client.post("/api/scans/axis", json=request).json()["center"] == pytest.approx(AXIS, abs=0.3)


def test_what_was_given_up_gives_nothing_up_when_it_comes_late(
    empty_instance: Instance, scan: str, recipe: dict[str, Any]
) -> None:
    request = {"path": scan, "options": OPTIONS, "recipe": recipe, "index": 3, "place": "slice", "client": "me"}
    answers: list[tuple[int, int]] = []

    def ask(number: int) -> None:
        with http(empty_instance) as client:
            answers.append((number, client.post("/api/scans/preview", json={**request, "number": number}).status_code))

    threads = [threading.Thread(target=ask, args=(number,)) for number in (9, 8, 7, 6, 5, 4, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (9, 200) in answers


def test_what_nobody_waits_for_is_given_up(empty_instance: Instance, scan: str, recipe: dict[str, Any]) -> None:
    slow = {**recipe, "method": "cgls", "iterations": 1000}
    answers: list[int] = []

    def ask(client: str) -> None:
        request = {"path": scan, "options": OPTIONS, "recipe": slow, "index": 3, "place": "slice", "client": client}
        with http(empty_instance) as line:
            answers.append(line.post("/api/scans/preview", json=request).status_code)

    for is_closed in (True, False):
        with open_page(empty_instance) as page:
            thread = threading.Thread(target=ask, args=(page.client,))
            thread.start()
            wait_until(lambda: empty_instance.session.previews.is_busy, TIMEOUT_S)
            if is_closed:
                page.say("save_draft", scan=scan, draft=None, is_open=False)
                thread.join()
        thread.join()
    assert [code // 100 for code in answers] == [4, 4]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"path": "/etc/hosts"}, "outside the folders"),
        ({"options": {**OPTIONS, "flats": "/etc/hosts"}}, "outside the folders"),
        ({"options": {**OPTIONS, "flats": "/exchange/data_white; /etc/hosts"}}, "outside the folders"),
        ({"options": {**OPTIONS, "darks": "../*.tif"}}, "outside the folders"),
        ({"options": {**OPTIONS, "angles": "nothing.txt"}}, "nothing.txt"),
        ({"index": 6}, "no row 6"),
        ({"window": [1.0, 1.0]}, "must be below the white level"),
    ],
)
def test_what_cannot_be_tried_is_said(
    empty_instance: Instance, scan: str, recipe: dict[str, Any], change: dict[str, Any], text: str
) -> None:
    request = {"path": scan, "options": OPTIONS, "recipe": recipe, "index": 0, "place": "slice", **change}
    with http(empty_instance) as client:
        answer = client.post("/api/scans/preview", json=request)
    assert 400 <= answer.status_code < 500
    assert text in answer.json()["what"]


def test_a_refused_recipe_says_what_there_is(empty_instance: Instance, scan: str, recipe: dict[str, Any]) -> None:
    request = {"path": scan, "recipe": {**recipe, "filter": "ram-lak"}, "index": 0, "place": "slice"}
    with http(empty_instance) as client:
        answer = client.post("/api/scans/preview", json=request)
    assert (answer.status_code, "shepp-logan" in answer.json()["remedy"]) == (400, True)


def wait_for(client: httpx.Client, task: str) -> dict[str, Any]:
    """How a task ended."""

    def status() -> dict[str, Any]:
        reply: dict[str, Any] = client.get(f"/api/tasks/{task}").json()
        return reply

    wait_until(lambda: status()["state"] != "running", TIMEOUT_S)
    return status()


def test_a_volume_is_made_and_opened(
    empty_instance: Instance, scan: str, recipe: dict[str, Any], beamline: Path
) -> None:
    target = str(beamline / "made.zarr")
    request = {"path": scan, "options": OPTIONS, "recipe": recipe, "output": target, "is_watched": True}
    with http(empty_instance) as client, open_page(empty_instance) as page:
        line = client.post("/api/reconstructions/command", json=request).json()["text"]
        assert line == f"pellucid reconstruct {scan} -o {target} --pyramid --pixel-size 5.0 --center 22.7"
        task = client.post("/api/reconstructions", json=request).json()["task"]
        while [layer["name"] for layer in page.hear_text("layers")["layers"]] != ["scan"]:
            pass  # Until slices are seen while they are made.
        assert wait_for(client, task)["state"] == "finished"
        while (heard := page.hear_text("progress"))["task"] != task or heard["state"] == "running":
            assert heard["task"] != task or heard["name"] == "Reconstructing scan"
        assert (heard["state"], heard["url"]) == ("finished", "")
        assert client.get(f"/api/reconstructions/{task}/log").status_code == 200
        with open_volume(target) as volume:
            assert inside(volume.read()[3]).mean() == pytest.approx(MU_PER_CM, rel=0.02)
        again = client.post("/api/reconstructions", json=request)
        assert (again.status_code, "exists" in again.json()["what"]) == (400, True)
        assert client.post("/api/load", json={"path": target}).status_code == 200


def test_a_run_is_stopped_and_goes_on(
    empty_instance: Instance, scan: str, recipe: dict[str, Any], beamline: Path
) -> None:
    request = {"path": scan, "options": OPTIONS, "recipe": recipe, "output": str(beamline / "later.zarr")}
    with http(empty_instance) as client, open_page(empty_instance) as page:
        task = client.post("/api/reconstructions", json=request).json()["task"]
        page.say("cancel_task", task=task)
        ended = wait_for(client, task)
        assert (ended["state"], ended["what"]) == ("stopped", "The reconstruction was cancelled.")
        assert not (beamline / "later.zarr").exists()
        assert wait_for(client, client.post("/api/reconstructions", json=request).json()["task"])["state"] == "finished"
        assert (beamline / "later.zarr").exists()


def test_a_run_that_fails_says_why(empty_instance: Instance, scan: str, recipe: dict[str, Any], beamline: Path) -> None:
    wide = {"energy_kev": 1.0, "distance_mm": 5000.0, "pixel_size_um": PIXEL_UM, "delta_over_beta": 500.0}
    request = {
        "path": scan,
        "options": OPTIONS,
        "recipe": {**recipe, "phase": wide},
        "output": str(beamline / "no.zarr"),
    }
    with http(empty_instance) as client:
        ended = wait_for(client, client.post("/api/reconstructions", json=request).json()["task"])
    assert ended["state"] == "stopped"
    assert "smooths over" in ended["what"]
    assert "energy in keV" in ended["remedy"]


def test_what_is_set_up_is_told_to_owners_who_come_later(
    empty_instance: Instance, scan: str, recipe: dict[str, Any], beamline: Path
) -> None:
    request = {
        "options": OPTIONS, "recipe": recipe, "axis": "chosen", "row": 3, "view": 0, "compare": "rings", "output": "",
        "is_replaced": False, "is_watched": False, "rows": None, "crop": None,
    }  # fmt: skip
    requested = {"path": scan, "options": OPTIONS, "recipe": recipe, "output": str(beamline / "told.zarr")}
    with http(empty_instance) as client, open_page(empty_instance) as page:
        page.say("save_draft", scan=scan, draft=request, is_open=True)
        task = client.post("/api/reconstructions", json=requested).json()["task"]
        while not (heard := page.hear_text("reconstructions"))["drafts"]:
            pass  # What is told at first is from before.
        assert (heard["open"], heard["drafts"]) == (scan, [{"scan": scan, "draft": request}])
        assert (heard["runs"][0]["status"]["task"], heard["runs"][0]["output"]) == (task, requested["output"])
        wait_for(client, task)
        page.say("save_draft", scan=scan, draft=None, is_open=False)
        page.say("save_draft", scan=scan, draft={**request, "recipe": {**recipe, "filter": "none"}}, is_open=True)
        assert "Unknown filter 'none'" in page.hear_text("error")["what"]
    (heard,) = told_at_first(empty_instance, "own")
    assert (heard["open"], heard["drafts"][0]["draft"], heard["runs"][0]["status"]["state"]) == (
        "",
        request,
        "finished",
    )
    assert told_at_first(empty_instance, "control") == []


def told_at_first(empty_instance: Instance, capability: Capability) -> list[dict[str, Any]]:
    """What a new page hears of reconstructions before it hears what is shown."""
    with connect(address(empty_instance), max_size=None) as socket:
        page = Page(socket)
        proof = proved(page, begun(empty_instance, capability), empty_instance.address)
        page.say("hello", version=VERSION, width=64, height=48, proof=proof)
        heard = [page.hear()]
        while not isinstance(heard[-1], dict) or heard[-1]["type"] != "state":
            heard.append(page.hear())
    return [one for one in heard if isinstance(one, dict) and one["type"] == "reconstructions"]


def test_a_volume_is_made_inside_the_roots_only(empty_instance: Instance, scan: str, recipe: dict[str, Any]) -> None:
    request = {"path": scan, "recipe": recipe, "output": "/var/elsewhere.zarr"}
    with http(empty_instance) as client:
        assert client.post("/api/reconstructions", json=request).status_code == 403
