"""The page in a real browser, and the viewer behind it in a process of its own.

Here: Viewer (started, killed, started again at the same address), and what a person does on the page.
Not here: tests.
"""

import io
import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect

from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.instance.lifecycle.viewer_records import running_viewers
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import VERSION, Scene
from tests.suite_report import BROWSERS, ROOT
from tests.waiting import TIMEOUT_MS

UNUSED_FEATURES = (
    "AimEnabled", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay",
    "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch",
    "SpareRendererForSitePerProcess", "ThirdPartyStoragePartitioning", "WebUIOmniboxAimPopup", "WebUIOmniboxPopup",
)  # fmt: skip
"""Playwright's own list, which this one replaces; processes that wait for pages to come; and two pages that every
window would load for its address bar."""
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"),
    # The page draws in two dimensions. A GPU that is simulated takes more time for that than the browser itself.
    *("--disable-software-rasterizer", "--disable-gpu-rasterization"),
    f"--disable-features={','.join(UNUSED_FEATURES)}",
]
POLL_MS = 50
"""Looking once per animation frame would keep the browser painting."""
expect.set_options(timeout=TIMEOUT_MS)
TOKEN = "{ 'Pellucid-Session': sessionStorage.getItem('pellucid ' + location.origin + location.pathname) }"
"""The header of a page's requests, in JavaScript."""
CANVAS = 'canvas[data-view="main"]'


def browser_program() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@dataclass
class Viewer:
    """``pellucid view`` of a file, or of nothing."""

    file: Path | None
    address: str = ""
    _process: "subprocess.Popen[str] | None" = field(default=None, repr=False)

    def start(self, *options: str) -> None:
        """Returns when the address is printed."""
        command = [
            sys.executable,
            "-m",
            "pellucid",
            "view",
            *([] if self.file is None else [str(self.file)]),
            "--no-browser",
            "--device",
            "cpu",
            *options,
        ]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().partition("#code=")[0]
        assert ".localhost:" in self.address, self.address

    @property
    def url(self) -> str:
        """A fresh link."""
        folder = Path(os.environ["PELLUCID_STATE_FOLDER"]) / "instances"
        (found,) = (one for one in running_viewers(folder) if one.address == self.address)
        return found.url

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].partition("/")[0])

    @property
    def workers(self) -> list[int]:
        """The processes that it started to draw."""
        assert self._process is not None
        pid = self._process.pid
        children = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [child for child in children if b"pellucid.workers.main" in Path(f"/proc/{child}/cmdline").read_bytes()]

    def end(self) -> None:
        """As whoever started it would: in order."""
        assert self._process is not None
        self._process.terminate()
        self._process.communicate()
        self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def opened(page: Page, url: str) -> None:
    """Go there and wait for the exact image."""
    page.goto(url)
    wait_for_rest(page)


def opened_alone(page: Page, url: str) -> None:
    """The same, and wait until no other page has the controls.

    A page that was closed a moment ago, by the test before, has them until the viewer notices; until then it refuses
    whatever this page changes.
    """
    opened(page, url)
    expect(page.locator(".people")).to_have_count(0)


def wait_for_rest(page: Page, after: int = -1) -> int:
    """Wait until an exact image newer than the given one is painted; its number."""
    script = """(after) => { const shown = document.querySelector('canvas[data-view="main"]')?.dataset;
        return shown?.isExact === "true" && Number(shown.number) > after ? Number(shown.number) + 1 : 0; }"""
    found = page.wait_for_function(script, arg=after, timeout=TIMEOUT_MS, polling=POLL_MS)
    return int(found.json_value()) - 1


def wait_for_fit(page: Page) -> None:
    """Wait until the image has the shape of its place: the first exact one may come before the page tells its size."""
    script = f"""() => {{ const shown = document.querySelector('{CANVAS}');
        const off = shown.width / shown.height - shown.clientWidth / shown.clientHeight;
        return shown.dataset.isExact === "true" && Math.abs(off) < 0.02; }}"""
    page.wait_for_function(script, timeout=TIMEOUT_MS, polling=POLL_MS)


def wait_for_scene(page: Page, claim: str, argument: object = None) -> None:
    """Wait until a claim in JavaScript about ``scene`` (and ``given``) is true, and the exact image of it painted."""
    script = f"""async (given) => {{
        for (const end = performance.now() + {TIMEOUT_MS}; performance.now() < end; ) {{
            const {{ scene, revision }} = await (await fetch("api/scene", {{ headers: {TOKEN} }})).json();
            const shown = document.querySelector('{CANVAS}').dataset;
            if (({claim}) && shown.isExact === "true" && Number(shown.revision) === revision) return true;
            await new Promise((done) => setTimeout(done, {POLL_MS}));
        }}
        return false; }}"""
    assert page.evaluate(script, argument), claim


def number(page: Page) -> int:
    return int(page.locator(CANVAS).get_attribute("data-number") or -1)


def middle_of(page: Page, selector: str) -> Voxels:
    """(height, width, 3) of the middle of an element as the browser shows it, without what lies over its borders."""
    shown = np.asarray(Image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB")).astype(int)
    height, width = shown.shape[:2]
    return shown[height // 4 : 3 * height // 4, width // 4 : 3 * width // 4]


def pixels(page: Page) -> Voxels:
    """(height, width, 3) of the image as it is painted."""
    script = f"document.querySelector('{CANVAS}').toDataURL('image/png')"
    encoded = b64decode(page.evaluate(script).partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB"))


def drag(page: Page, across: int, down: int, button: str = "left") -> None:
    """With the mouse, over the middle of the image."""
    x, y = 500, 400
    page.mouse.move(x, y)
    page.mouse.down(button="middle" if button == "middle" else "left")
    for step in range(1, 6):
        page.mouse.move(x + across * step / 5, y + down * step / 5)
    page.mouse.up(button="middle" if button == "middle" else "left")


def scene(page: Page) -> dict[str, Any]:
    """What the instance shows."""
    snapshot: dict[str, Any] = page.evaluate(
        f"fetch('api/scene', {{ headers: {TOKEN} }}).then((answer) => answer.json())"
    )
    return snapshot


def frame(page: Page) -> Frame:
    """The renderer's own image of what the instance shows."""
    document = {"version": VERSION, **scene(page)["scene"]}
    height, width = pixels(page).shape[:2]
    return Renderer(choose("cpu")).render(Scene.from_json(json.dumps(document)), width, height)


def drawn(page: Page) -> Voxels:
    """Its colours."""
    return np.asarray(Image.fromarray(frame(page).rgba).convert("RGB"))


def solid_place(page: Page) -> tuple[float, float]:
    """In the page, where something is under the mouse that one does not see through: near the middle of the image."""
    depth = frame(page).depth
    rows, columns = np.nonzero(np.isfinite(depth))
    nearest = int(np.hypot(rows - depth.shape[0] / 2, columns - depth.shape[1] / 2).argmin())
    box = page.locator(CANVAS).bounding_box()
    assert box is not None
    scale = box["width"] / depth.shape[1]
    return box["x"] + (float(columns[nearest]) + 0.5) * scale, box["y"] + (float(rows[nearest]) + 0.5) * scale


def peak_signal(left: Voxels, right: Voxels) -> float:
    """PSNR in dB of 8-bit images; infinite where they are equal."""
    error = float(np.mean((left.astype(float) - right.astype(float)) ** 2))
    return float("inf") if error == 0 else 10 * float(np.log10(255**2 / error))


def show_slices(page: Page, is_shown: bool = True) -> None:
    """Whatever they were before: a page that is closed at once may take its last change with it."""
    button = page.get_by_role("button", name="Slices", exact=True)
    wanted = "true" if is_shown else "false"
    if button.get_attribute("aria-pressed") != wanted:
        button.click()
    expect(button).to_have_attribute("aria-pressed", wanted)
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(3 if is_shown else 0)


def see(page: Page, text: str) -> None:
    expect(page.get_by_text(text).first).to_be_visible(timeout=TIMEOUT_MS)
