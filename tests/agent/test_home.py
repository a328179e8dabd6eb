"""The agent's page in a real browser: start from the form, open, see the picture; a task and its log; a refusal."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright

from pellucid.volume.sample import sample
from tests.agent.processes import agent
from tests.web.browsing import FLAGS, PATIENCE_MS, browser_program, opened


def test_a_person_starts_opens_and_stops_a_viewer(tmp_path: Path) -> None:
    program = browser_program()
    if program is None:
        pytest.skip("needs a browser: install chromium")
    np.save(tmp_path / "ball.npy", sample(24))
    (tmp_path / "state").mkdir()
    with agent(tmp_path / "state", PELLUCID_DEVICE="cpu") as running, sync_playwright() as playwright:
        running.until(running.run(tmp_path, "convert", "none.npy", "none.zarr"), "failed")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(running.url[:-4] + "abcd")
        expect(page.get_by_role("heading")).to_have_text("This viewer is closed to this address")
        page.goto(running.url)
        page.get_by_role("row", name="none.npy").get_by_role("button", name="Log").click()
        expect(page.locator("#log")).to_contain_text("There is nothing at")
        page.get_by_label("Size").fill("1,2")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("alert")).to_contain_text("The request was not understood")
        page.get_by_label("Size").fill("")
        page.get_by_label("File").fill(str(tmp_path / "ball.npy"))
        page.get_by_role("button", name="Start").click()
        row = page.get_by_role("row", name="ball.npy")
        link = row.get_by_role("link", name="Open")
        expect(link).to_be_visible(timeout=2 * PATIENCE_MS)
        opened(browser.new_page(), running.base + str(link.get_attribute("href")))
        row.get_by_role("button", name="Stop").click()
        expect(row).to_contain_text("It was stopped.", timeout=PATIENCE_MS)
        assert faults == []
        browser.close()
