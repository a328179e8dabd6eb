"""How a viewer feels in a browser: from a hand that moves to an image that is painted.

Here: a real Chromium on the same machine, dragging with its mouse; JPEG and H.264.
Not here: a client without a browser (viewer).

    python -m benchmarks.viewer_page [--quick] [--json FILE]

The bonsai at 1280 × 720, with the panel beside it. A drag moves the mouse 60 times a second; what is measured is noted
by the page itself, at every input and at every image that it has painted. Between drags it waits for the exact one.
"""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.table import TARGET, Row, faster, options, report, shorter
from benchmarks.viewer import CPU, p95, volume_in
from pellucid.client.connection import Connection
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_MS = 60_000
CENTRE = (520, 400)
NOTE = """() => {
    const canvas = document.querySelector('canvas[data-view="main"]');
    const noted = (globalThis.noted = { painted: [], moved: [], rested: 0 });
    const paint = () => noted.painted.push([performance.now(), canvas.dataset.isExact === "true"]);
    new MutationObserver(paint).observe(canvas, { attributes: true, attributeFilter: ["data-number"] });
    canvas.addEventListener("pointermove", (event) => event.buttons && noted.moved.push(event.timeStamp));
    canvas.addEventListener("pointerup", (event) => (noted.rested = event.timeStamp));
}"""
IS_EXACT = """() => { const { painted, rested } = globalThis.noted;
    return rested > 0 && painted.some(([at, isExact]) => isExact && at > rested); }"""
HAS_IMAGE = """() => document.querySelector('canvas[data-view="main"]')?.dataset.isExact === "true" """
TAKE = """() => { const { painted, moved, rested } = globalThis.noted;
    Object.assign(globalThis.noted, { painted: [], moved: [], rested: 0 });
    return { painted, moved, rested }; }"""


def main() -> None:
    given = options("A viewer in a browser, from input to image.")
    drags, seconds = (3, 1.0) if given.is_quick else (12, 2.0)
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        source = volume_in(Path(folder), 256)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for encoding in ("jpeg", "h264"):
            with start(roots=[source.parent]) as viewer:
                viewer.load(source)
                rows += measured(browser, viewer, encoding, drags, seconds)
        browser.close()
    report("viewer_page", rows, f"{source.name} at 1280 × 720, {drags} drags of {seconds:g} s, Chromium", given)


def measured(browser: Browser, viewer: Viewer, encoding: str, drags: int, seconds: float) -> list[Row]:
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    if encoding == "jpeg":
        page.add_init_script("delete globalThis.VideoDecoder")  # As in a browser that has none.
    page.goto(viewer.url)
    page.wait_for_function(HAS_IMAGE, timeout=TIMEOUT_MS)
    page.evaluate(NOTE)
    drag(page, 0.5)  # The first is slower everywhere, and is not the question.
    noted = [drag(page, seconds) for _ in range(drags)]
    page.context.close()
    return rows_of(encoding, noted, viewer)


def drag(page: Page, seconds: float) -> dict[str, Any]:
    """One drag, and what the page noted of it."""
    (x, y), started = CENTRE, time.perf_counter()
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, round(seconds * CPU.rate) + 1):
        time.sleep(max(0.0, started + step / CPU.rate - time.perf_counter()))
        page.mouse.move(x + 4 * step, y + step % 40)
    page.mouse.up()
    page.wait_for_function(IS_EXACT, timeout=TIMEOUT_MS)
    noted: dict[str, Any] = page.evaluate(TAKE)
    return noted


def rows_of(encoding: str, drags: list[dict[str, Any]], viewer: Viewer) -> list[Row]:
    firsts, rests, frames, seconds = [], [], 0, 0.0
    for noted in drags:
        begun, rested = noted["moved"][0], noted["rested"]
        painted = [at for at, _ in noted["painted"] if at > begun]
        firsts.append(painted[0] - begun)
        frames += sum(at <= rested for at in painted)
        seconds += (rested - begun) / 1000
        rests.append(next(at for at, is_exact in noted["painted"] if is_exact and at > rested) - rested)
    stages = Connection(viewer.url).ask("GET", "/api/statistics")["stages"]
    return [
        faster(f"{encoding}: frames while dragging", "1/s", frames / seconds, TARGET, CPU.frames_per_second),
        shorter(f"{encoding}: first image of a drag", "ms", p95(firsts), TARGET, CPU.first_ms, "p95"),
        shorter(f"{encoding}: exact image after rest", "s", max(rests) / 1000, TARGET, CPU.exact_s, "longest"),
        *(
            Row(f"{encoding}: {stage}", metric, "ms", times[metric], "-", None, None)
            for stage, times in stages.items()
            for metric in ("median", "p95")
        ),
    ]


if __name__ == "__main__":
    main()
