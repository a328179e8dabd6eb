"""The training of a neural field on the page: its preview beside the volume, and its grids as boxes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect

from pellucid.volume.sample_volume import sample
from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import opened, pixels
from tests.web.conftest import SIZE


def test_a_training_is_seen_beside_the_volume(browser: Browser, tmp_path: Path) -> None:
    np.save(tmp_path / "scan.npy", sample(32))
    limits = ["--size", "6kB", "--time", "10min", "--device", "cpu"]  # It is ended when the page was looked at.
    command = [sys.executable, "-m", "pellucid", "compress", "scan.npy", "-o", "scan.plf", "--view", *limits]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "BROWSER": "true",
        "DISPLAY": "",
    }
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            context = browser.new_context(viewport=SIZE)
            page = context.new_page()
            opened(page, process.stdout.readline().strip())
            check_training(page)
            context.close()
        finally:
            process.terminate()


def check_training(page: Page) -> None:
    boxes = page.locator("svg.training g")
    expect(boxes).to_have_count(16, timeout=TIMEOUT_MS)
    before = boxes.first.inner_html()
    expect(page.locator(".status")).to_contain_text("dB")
    expect(page.get_by_text("neural", exact=True)).to_be_visible()
    expect(page.get_by_text("raw", exact=True)).to_be_visible()
    page.wait_for_function("text => document.querySelector('svg.training g').innerHTML !== text", arg=before)
    assert pixels(page).std() > 5
