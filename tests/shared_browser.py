"""One browser for all tests of a process.

Here: SharedBrowser, the pytest plugin that starts it and keeps Playwright's event loop away from other tests.
Not here: the fixture (conftest), what tests do in a browser (web/browsing), who shares a worker (worker_groups).

Playwright runs an event loop in the main thread from its start to its end, and leaves it marked as the running one
between two calls. Under that mark asyncio.run fails, and so does a second Playwright: hence one for the whole process,
marked only while a test runs that uses it.
"""

import asyncio
from asyncio.events import _set_running_loop
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.waiting import TIMEOUT_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser


SCALE = 0.5
"""Device pixels along the edge of a CSS pixel, unless a test says otherwise: images of the usual size would take the
renderer and the browser four times as long."""


def uses_browser(item: pytest.Item) -> bool:
    return "browser" in getattr(item, "fixturenames", ())


def _opened(make: Callable[..., Any], **options: Any) -> Any:
    """A context or a page that waits as long as other tests do; Playwright itself gives up after 30 s."""
    made = make(**{"device_scale_factor": SCALE, **options})
    made.set_default_timeout(TIMEOUT_MS)
    return made


class SharedBrowser:
    """Started once, for the fixture; its loop is the running one only in tests that use the fixture."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        _set_running_loop(self._loop if uses_browser(item) else None)

    @contextmanager
    def launched(self) -> "Iterator[Browser]":
        """Chromium until the block ends."""
        from playwright.sync_api import sync_playwright

        from tests.web.browsing import FLAGS, browser_program

        program = browser_program()
        if program is None:
            pytest.skip("needs a browser: install chromium")
        with sync_playwright() as playwright:
            self._loop = asyncio.get_running_loop()
            launched = playwright.chromium.launch(executable_path=program, args=FLAGS)
            for name in ("new_context", "new_page"):
                setattr(launched, name, partial(_opened, getattr(launched, name)))
            yield launched
            _set_running_loop(self._loop)  # The last test need not have used it.
            launched.close()
        self._loop = None
