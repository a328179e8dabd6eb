"""When a frame is sent to a client: as soon as the page has shown those before.

Here: FlowControl of one client: the frames that it has to acknowledge, the one held back, whether a key frame is due.
Not here: what is drawn and when (scheduler), encoding (sender), messages that wait to be sent (websocket.client).
"""

import time
from collections.abc import Callable

from pellucid.instance.frames.quality import AdaptiveQuality
from pellucid.instance.protocol.client_messages import Acknowledge
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.server_messages import FrameHeader
from pellucid.instance.protocol.shared_types import View

MAX_IN_FLIGHT = 2
"""Frames that were sent and not acknowledged: one is drawn by the page while the next travels."""


class FlowControl:
    """send: to the client. needs_key: of the video, before anything else of it can be shown. quality: of its frames, by
    the time that they travel."""

    def __init__(self, send: Callable[[EncodedFrame[FrameHeader]], None]) -> None:
        self._send = send
        self.needs_key = True
        self.quality = AdaptiveQuality()
        self._in_flight: dict[int, float] = {}
        self._held_back: dict[View, EncodedFrame[FrameHeader]] = {}

    @property
    def can_send(self) -> bool:
        return len(self._in_flight) < MAX_IN_FLIGHT

    def send(self, image: EncodedFrame[FrameHeader]) -> bool:
        """Send it, or keep it for later where it stands alone. Whether it was sent."""
        header = image.header
        if header.encoding == "h264" and not (header.is_key or not self.needs_key):
            return False
        if not self.can_send:
            if header.encoding == "h264":
                self.needs_key = True
            else:
                self._held_back[header.view] = image
            return False
        self._held_back.pop(header.view, None)
        self.needs_key = self.needs_key and header.encoding != "h264"
        self._in_flight[header.number] = time.monotonic()
        self._send(image)
        return True

    def acknowledge(self, message: Acknowledge) -> float | None:
        """The milliseconds that a frame was on the wire; None for a frame that was not sent."""
        sent = self._in_flight.pop(message.number, None)
        for view in list(self._held_back):
            if self.can_send:
                self.send(self._held_back.pop(view))
        if sent is None:
            return None
        wire_ms = max(0.0, (time.monotonic() - sent) * 1000 - message.decode_ms - message.paint_ms)
        self.quality.add_sample(wire_ms)
        return wire_ms
