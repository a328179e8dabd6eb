"""The live widget of a viewer in a notebook.

Here: ViewerWidget: what the notebook's page (widget.js) asks of the kernel.
Not here: what else a cell shows (notebook), the viewer's page (transport.tunnel.upgrade).

A code is sent when it is asked for, each time a fresh one, and is no trait of the widget: traits may be saved with the
notebook.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anywidget
import traitlets

from pellucid.errors import PellucidError

if TYPE_CHECKING:
    from pellucid.client.viewer import Viewer

HEIGHT = 540


class ViewerWidget(anywidget.AnyWidget):
    """port: of the viewer on the kernel's machine; height: of the widget in pixels; image: of what the viewer showed
    first, as a data URL or "". It is seen until the kernel answers, and in notebooks that were exported without one."""

    _esm = Path(__file__).with_suffix(".js")
    port = traitlets.Int().tag(sync=True)
    height = traitlets.Int(HEIGHT).tag(sync=True)
    image = traitlets.Unicode().tag(sync=True)

    def __init__(self, viewer: "Viewer", image: str = "") -> None:
        super().__init__(port=viewer.port, image=image)
        self._viewer = viewer
        self.on_msg(self._answer)

    @property
    def view(self) -> dict[str, Any]:
        """What a notebook needs to show it."""
        shown = self._repr_mimebundle_()
        bundle = (shown[0] if isinstance(shown, tuple) else shown) or {}
        return {kind: part for kind, part in bundle.items() if kind != "text/plain"}

    def _answer(self, _: object, request: Any, __: object) -> None:
        if request == "code":
            self._send_code()
        elif request == "name":
            self.send({"name": urlsplit(self._viewer.address).hostname})
        elif request == "picture":
            try:
                self.send({"picture": True}, [self._viewer.screenshot_png()])
            except PellucidError as error:
                self.send({"what": str(error)})

    def _send_code(self) -> None:
        try:
            self.send({"code": self._viewer.code})
        except PellucidError as error:
            self.send({"what": str(error)})
