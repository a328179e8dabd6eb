"""The agent's page in a real browser: files, viewers and tasks, as a person uses them."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pellucid.volume.sample_volume import sample
from tests.agent.processes import AgentProcess, agent
from tests.tomo.small_scan import write_scan
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import wait_for_rest

SHORT = {"width": 1280, "height": 720}


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scans")
    np.save(folder / "ball.npy", sample(24))
    write_scan(folder / "scan.h5", rows=4, views=36)
    (folder / "below").mkdir()
    for number in range(3):
        np.save(folder / "below" / f"part-{number}.npy", sample(12))
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, scans: Path) -> Iterator[AgentProcess]:
    with agent(tmp_path_factory.mktemp("state"), f'roots = ["{scans}"]', PELLUCID_DEVICE="cpu") as started:
        yield started


@pytest.fixture
def page(running: AgentProcess, browser: Browser) -> Iterator[Page]:
    """The page, of which no fault is tolerated."""
    made = browser.new_page(viewport=SHORT)  # type: ignore[arg-type]
    faults: list[str] = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    made.goto(running.url)
    yield made
    assert faults == []
    made.close()


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name).first


def choose(page: Page, name: str) -> None:
    page.locator("#entries").get_by_role("button", name=name, exact=True).click()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def send(page: Page, name: str, content: bytes) -> None:
    expect(page.locator("#upload")).to_be_visible(timeout=TIMEOUT_MS)  # Once it is known which folder is shown.
    page.locator("#upload input").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})


def open_viewer(page: Page, name: str) -> None:
    """As a person does, from its card; until it shows something."""
    viewer_card = page.get_by_role("article", name=name, exact=True).first
    link = viewer_card.get_by_role("button", name="Open", exact=True)
    expect(link).to_be_visible(timeout=TIMEOUT_MS)
    with page.expect_popup() as viewer:
        link.click()
    wait_for_rest(viewer.value)
    assert "#" not in viewer.value.url and viewer.value.evaluate("window.opener") is None
    viewer.value.close()


def test_it_is_closed_without_a_link_and_a_link_works_once(running: AgentProcess, browser: Browser) -> None:
    used = running.url
    page = browser.new_page()
    for url, words in (
        (running.base, "Run pellucid open"),
        (used[:-4] + "abcd", "does not belong to this agent"),
        (used, ""),
        (used, "already used"),
    ):
        page.goto("about:blank")
        page.evaluate("1")
        page.goto(url)
        if words:
            expect(page.get_by_role("alert")).to_contain_text(words, timeout=TIMEOUT_MS)
        else:
            expect(page.locator("#entries")).to_contain_text("ball.npy", timeout=TIMEOUT_MS)
            assert page.url == running.base
            page.reload()  # It needs no link.
            expect(page.locator("#entries")).to_contain_text("ball.npy", timeout=TIMEOUT_MS)
            page.evaluate("sessionStorage.clear()")
    page.close()


def test_a_person_looks_into_a_file_views_it_and_stops(page: Page) -> None:
    choose(page, "ball.npy")
    expect(page.locator("#chosen")).to_contain_text("24 × 24 × 24 uint16", timeout=TIMEOUT_MS)
    press(page, "View")
    request = page.get_by_role("dialog", name="New viewer")
    expect(request.get_by_label("Size")).to_have_value("24, 24, 24")
    expect(request).to_contain_text(re.compile(r"Estimated: (no|1) GPU and 4\.0 GiB of memory\."))
    request.get_by_label("Size").fill("1, 2")
    press(page, "Start")
    expect(request).to_contain_text("Invalid request")
    request.get_by_label("Size").fill("24, 24, 24")
    request.get_by_label("GPUs").fill("0")
    press(page, "Start")
    open_viewer(page, "ball")
    card(page, "ball").get_by_role("button", name="Stop").click()
    expect(card(page, "ball")).to_contain_text("It was stopped", timeout=TIMEOUT_MS)


def test_an_empty_viewer_opens_the_files_that_the_agents_page_shows(page: Page, scans: Path) -> None:
    press(page, "New viewer")
    press(page, "Start")
    link = card(page, "viewer").get_by_role("button", name="Open", exact=True)
    with page.expect_popup() as popup:
        link.click(timeout=TIMEOUT_MS)
    viewer = popup.value
    viewer.get_by_role("button", name="Open a file").first.click(timeout=TIMEOUT_MS)
    drawer = viewer.get_by_role("complementary", name="Files")
    expect(drawer.get_by_role("navigation", name="Folder")).to_contain_text(scans.name)
    drawer.locator(".file", has_text="ball.npy").click(timeout=TIMEOUT_MS)
    expect(viewer).to_have_title("ball.npy · Pellucid")
    wait_for_rest(viewer)
    viewer.close()
    card(page, "viewer").get_by_role("button", name="Stop").click()
    expect(card(page, "viewer")).to_contain_text("It was stopped")


def test_a_scan_is_reconstructed_as_a_task_and_the_volume_opened(page: Page) -> None:
    choose(page, "scan.h5")
    expect(page.locator("#chosen")).to_contain_text(re.compile(r"36 over .*°, 3 flats, 2 darks"), timeout=TIMEOUT_MS)
    press(page, "Reconstruct as a task")
    page.get_by_label("Axis").fill("22.7")
    page.get_by_label("More options").fill("--workers 1 --device cpu")
    press(page, "Start")
    task = card(page, "reconstruct scan.h5")
    expect(task).to_be_visible(timeout=TIMEOUT_MS)
    result = task.get_by_role("button", name="Open result")
    expect(result).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator("#entries")).to_contain_text("scan-volume.zarr", timeout=TIMEOUT_MS)
    result.click()
    open_viewer(page, "scan-volume")


def test_a_batch_converts_every_file(page: Page, scans: Path) -> None:
    choose(page, "below")
    for number in range(3):
        page.get_by_label(f"Select part-{number}.npy").check()
    press(page, "Convert")
    expect(page.get_by_label("Output")).to_have_value("{folder}/{stem}.zarr")
    press(page, "Start")
    batch = card(page, "batch of 3")
    expect(batch).to_contain_text("3 done", timeout=TIMEOUT_MS)
    assert sorted(path.name for path in (scans / "below").glob("*.zarr")) == [f"part-{n}.zarr" for n in range(3)]
    batch.get_by_text("All 3").click()
    expect(batch.get_by_role("button", name="Open result")).to_have_count(3)


def test_files_are_sent_and_fetched(page: Page, scans: Path) -> None:
    send(page, "notes.txt", b"voxels")
    expect(page.locator("#entries")).to_contain_text("notes.txt", timeout=TIMEOUT_MS)
    assert (scans / "notes.txt").read_bytes() == b"voxels"
    choose(page, "notes.txt")
    with page.expect_download() as fetched:
        page.get_by_role("button", name="Download").click()
    assert Path(fetched.value.path()).read_bytes() == b"voxels"
    send(page, "notes.txt", b"other")
    expect(page.get_by_role("alert")).to_contain_text("notes.txt already exists")
    assert (scans / "notes.txt").read_bytes() == b"voxels"


def test_a_task_that_fails_shows_why(running: AgentProcess, page: Page, scans: Path) -> None:
    running.until(running.run(scans, "convert", "none.npy", "none.zarr"), "failed")
    task = card(page, "convert none.npy none.zarr")
    expect(task).to_contain_text("does not exist", timeout=TIMEOUT_MS)
    task.get_by_role("button", name="Log").click()
    expect(page.get_by_role("dialog", name="Log")).to_contain_text("does not exist")
    press(page, "Close")


def test_a_folder_is_fetched_as_one_file(running: AgentProcess, scans: Path) -> None:
    fetched = running.client.get("/api/files/content", params={"path": str(scans / "below")})
    with zipfile.ZipFile(io.BytesIO(fetched.content)) as packed:
        assert packed.testzip() is None
        assert packed.read("below/part-0.npy") == (scans / "below/part-0.npy").read_bytes()
