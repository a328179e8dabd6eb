"""A viewer as the output of a notebook cell.

Here: what a notebook is given to show: the live widget, an image for where there is no front end, a line of text.
Not here: the widget itself (widget).
"""

import base64
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pellucid.errors import PellucidError

if TYPE_CHECKING:
    from pellucid.client.viewer import Viewer

IMAGE = (960, 540)


def mimebundle(viewer: "Viewer") -> dict[str, Any]:
    """All representations; the front end chooses the best."""
    bundle: dict[str, Any] = {"text/plain": repr(viewer)}
    if not _is_in_kernel():
        return bundle
    with suppress(PellucidError):  # Nothing is shown yet, or the viewer has ended: the text is left.
        bundle["image/png"] = base64.b64encode(viewer.screenshot_png(*IMAGE)).decode()
    if find_spec("anywidget") is not None:
        from pellucid.client.widget import ViewerWidget

        png = bundle.get("image/png")
        bundle |= ViewerWidget(viewer, f"data:image/png;base64,{png}" if png else "").view
    return bundle


def _is_in_kernel() -> bool:
    """Whether a notebook runs this, and not a terminal, for which an image would be drawn in vain."""
    found = sys.modules.get("IPython")
    return found is not None and hasattr(found.get_ipython(), "kernel")
