"""From rendered images to encoded frames at every client.

Here: FrameSender: encoding beside the next drawing, once for everyone who takes the same encoding; the newest wins.
Not here: what is drawn and when (scheduler), codecs (encoders), what each client can take (flow_control).
"""

import asyncio
import itertools
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pellucid.errors import MissingPackage
from pellucid.formats.protocol import Voxels
from pellucid.instance.frames.encoders import (
    MAX_THREADS,
    EncodingFailed,
    VideoEncoder,
    VideoFrame,
    encode_png,
    prepare_video,
)
from pellucid.instance.frames.jpeg import JpegEncoder
from pellucid.instance.frames.timing import FrameTiming
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.server_messages import FrameHeader
from pellucid.instance.protocol.shared_types import Encoding, View
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.settings import current

log = logging.getLogger(__name__)

GUEST_KEY_S = 1.0
"""Between key frames for guests: each costs everyone as much as ten other frames."""
THREADS = 3
"""One for each encoding."""


@dataclass(frozen=True)
class RenderedFrame:
    """An image that was drawn. header: what is known of it before it is encoded; FrameSender adds number, size,
    encoding and times. drawn_at: where the input's time ends, by time.perf_counter, and encoding begins: together the
    stages are all of the time since the input."""

    header: FrameHeader
    pixels: Voxels
    release: Callable[[], None]
    jpeg_quality: int
    drawn_at: float

    @property
    def view(self) -> View:
        return self.header.view


class FrameSender:
    """All methods are called on the event loop; encoding runs on threads."""

    def __init__(
        self,
        timing: FrameTiming,
        members: Callable[[], Iterable[ConnectedClient]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timing, self._members, self._clock = timing, members, clock
        self._key_at = float("-inf")
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="pellucid-encode")
        self._jpeg = JpegEncoder(min(current().threads, MAX_THREADS))
        self._videos: dict[View, VideoEncoder] = {}
        self._numbers = itertools.count(1)
        self._last: dict[View, EncodedFrame[FrameHeader]] = {}
        self._orders = itertools.count(1)
        self._drawn: dict[View, int] = {}
        self._sent: dict[tuple[View, Encoding], int] = defaultdict(int)
        self._turns: dict[Encoding, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._is_prepared = False
        self._has_logged_failure = False

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._jpeg.close()

    def resend_last(self, member: ConnectedClient) -> None:
        """Send the current image to a new client, and prepare its first frame."""
        for image in self._last.values():
            member.frames.send(image)
        if member.wants_video and not self._is_prepared:
            self._is_prepared = True
            self._threads.submit(prepare_video)

    def forget(self) -> None:
        """What was sent last is no longer what there is."""
        self._last.clear()

    async def encode_and_send(self, shot: RenderedFrame) -> None:
        """Encode and send, unless a newer image of the view was faster: the exact one takes long to encode."""
        order = self._drawn[shot.view] = next(self._orders)
        try:
            await asyncio.gather(*(self._send(shot, encoding, order) for encoding in self._encodings(shot)))
        finally:
            shot.release()
        self._timing.frame()
        self._timing.add("input", shot.header.times_ms.input)
        self._timing.add("render", shot.header.times_ms.render)

    def _encodings(self, shot: RenderedFrame) -> list[Encoding]:
        if shot.header.is_exact:
            return ["png"]
        found: set[Encoding] = {"h264" if member.wants_video else "jpeg" for member in self._members()}
        return sorted(found)

    def _takers(self, encoding: Encoding) -> list[ConnectedClient]:
        return [one for one in self._members() if encoding == "png" or one.wants_video == (encoding == "h264")]

    async def _send(self, shot: RenderedFrame, encoding: Encoding, order: int) -> None:
        takers = self._takers(encoding)
        if encoding != "png" and not any(member.frames.can_send for member in takers):
            self._timing.dropped += 1  # Before it was encoded: a video has no gap, and needs no key frame.
            return
        async with self._turns[encoding]:  # One frame after the other: those of a video build on the ones before.
            if self._drawn[shot.view] > order:
                self._timing.dropped += 1  # While it waited for its turn another was drawn, which waits now too.
                return
            image = await self._encoded(shot, encoding, takers)
        encode_ms = (time.perf_counter() - shot.drawn_at) * 1000
        self._timing.add("encode", encode_ms)
        takers = self._takers(encoding)  # Who came meanwhile has not been shown it as the last one.
        if self._newest_sent(shot.view, encoding) > order:
            self._drop(takers)
            return
        self._sent[shot.view, encoding] = order
        times, sent_at_ms = replace(image.header.times_ms, encode=encode_ms), time.time() * 1000
        image = EncodedFrame(replace(image.header, times_ms=times, sent_at_ms=sent_at_ms), image.encoded)
        if image.header.encoding != "h264":
            self._last[shot.view] = image
        self._timing.dropped += sum(not member.frames.send(image) for member in takers)

    def _newest_sent(self, view: View, encoding: Encoding) -> int:
        """To any of those who take this encoding; the exact image goes to everyone."""
        encodings: tuple[Encoding, ...] = ("jpeg", "h264", "png") if encoding == "png" else (encoding, "png")
        return max(self._sent[view, other] for other in encodings)

    async def _encoded(
        self, shot: RenderedFrame, encoding: Encoding, takers: list[ConnectedClient]
    ) -> EncodedFrame[FrameHeader]:
        needs_key = encoding == "h264" and self._needs_key(takers)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._encode, shot, encoding, needs_key)

    def _needs_key(self, takers: list[ConnectedClient]) -> bool:
        """Whether a key frame is due: at once for the owner; guests get one together, at most every second."""
        waiting = [member for member in takers if member.frames.needs_key and member.frames.can_send]
        is_due = self._clock() - self._key_at >= GUEST_KEY_S
        if not waiting or not (is_due or any(member.requester.is_owner for member in waiting)):
            return False
        self._key_at = self._clock()
        return True

    def _drop(self, takers: list[ConnectedClient]) -> None:
        self._timing.dropped += 1
        for member in takers:
            member.frames.needs_key = True  # A gap in the video.

    def _still(self, shot: RenderedFrame, encoding: Encoding) -> bytes:
        if encoding == "png":
            return encode_png(shot.pixels)
        is_enlarged = shot.pixels.shape[0] < shot.header.full_height
        return self._jpeg.encode(shot.pixels, shot.jpeg_quality, is_enlarged=is_enlarged)

    def _video(self, shot: RenderedFrame, is_key: bool) -> VideoFrame | None:
        """None where the frame cannot be video: it is sent as a JPEG then."""
        try:
            return self._videos.setdefault(shot.view, VideoEncoder()).encode(shot.pixels, is_key)
        except (EncodingFailed, MissingPackage) as error:
            if not self._has_logged_failure:
                log.warning("%s", error)
            self._has_logged_failure = True
            return None

    def _encode(self, shot: RenderedFrame, encoding: Encoding, is_key: bool) -> EncodedFrame[FrameHeader]:
        height, width = shot.pixels.shape[:2]
        codec = ""
        video = self._video(shot, is_key) if encoding == "h264" else None
        if video is not None:
            encoded, width, height = video.encoded, video.width, video.height
            codec, is_key = video.codec, video.is_key
        else:
            is_key, encoding = True, "jpeg" if encoding == "h264" else encoding
            encoded = self._still(shot, encoding)
        made = {"width": width, "height": height, "encoding": encoding, "codec": codec, "is_key": is_key}
        return EncodedFrame(replace(shot.header, number=next(self._numbers), **made), encoded)
