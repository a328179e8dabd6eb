"""Opening a page in the user's browser.

Here: open_browser, has_browser.
Not here: the addresses (client, instance).

A link has a secret in it, and the arguments of a browser can be read by every user of the machine. So the browser is
opened on a file that only its owner can read, which leads to the link.
"""

import html
import json
import os
import secrets
import sys
import threading
import time
import webbrowser

from pellucid.jobs.private_files import private_folder, write_private
from pellucid.settings import current

KEPT_S = 60.0
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>Pellucid</title><script>location.replace(%s)</script>
<p><a href="%s">Open the viewer</a></p></html>
"""


def has_browser() -> bool:
    """Whether a browser would open in a window; one in the terminal would cover the address."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def open_browser(url: str) -> None:
    """Open a link, unseen by other users. The file that leads there is deleted a minute later, here or by the next."""
    folder = private_folder(current().state_folder / "open")
    for old in folder.iterdir():
        if time.time() - old.stat().st_mtime > KEPT_S:
            old.unlink(missing_ok=True)
    path = folder / f"{secrets.token_hex(8)}.html"
    write_private(path, PAGE % (json.dumps(url), html.escape(url)))
    webbrowser.open(path.as_uri())
    timer = threading.Timer(KEPT_S, path.unlink, (True,))
    timer.daemon = True
    timer.start()
