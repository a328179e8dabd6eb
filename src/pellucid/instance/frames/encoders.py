"""Images as bytes for a page.

Here: PNG, and H.264 as a stream.
Not here: JPEG (jpeg), when which is wanted (sender), movie files (rendering.movie).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import imagecodecs
import numpy as np

from pellucid.errors import MissingPackage
from pellucid.formats.protocol import Voxels
from pellucid.settings import current

FRAMES_PER_SECOND = 30
MIN_VIDEO_EDGE = 16
"""Pixels: a smaller image is enlarged, as encoders refuse it."""
MAX_THREADS = 8
"""Of one image: each makes a slice of it, and smaller ones would not be made sooner."""

QUANTIZER = "24"
"""Of all frames alike: to choose one for each frame (crf), the encoder looks through it once more, on one thread."""

MIN_SHARE = 0.4
"""Of a stream's edges: an image that is smaller than that begins another, and a larger one is enlarged to fit it."""


def encode_png(pixels: Voxels, *, has_opacity: bool = False) -> bytes:
    """Lossless, grey where there is one band; opacity is left out, as a page shows none, unless it is wanted. The
    interpreter's lock is let go meanwhile."""
    # One filter for all rows: to try which is the best for each would take twice as long.
    how = {"filter": imagecodecs.PNG.FILTER.PAETH, "strategy": imagecodecs.PNG.STRATEGY.RLE}
    shown = pixels if has_opacity or pixels.ndim == 2 else _without_opacity(pixels)
    return bytes(imagecodecs.png_encode(shown, level=imagecodecs.PNG.COMPRESSION.SPEED, **how))


def _without_opacity(pixels: Voxels) -> Voxels:
    colors = np.empty((*pixels.shape[:2], 3), np.uint8)
    for channel in range(3):  # One at a time: all three at once take six times as long.
        colors[..., channel] = pixels[..., channel]
    return colors


class EncodingFailed(Exception):
    """The encoder refused a frame, which can be sent as a still image: no user meets this."""


@dataclass(frozen=True)
class VideoFrame:
    """One frame of a stream, Annex B. codec: as WebCodecs names it."""

    encoded: bytes
    is_key: bool
    codec: str
    width: int
    height: int


class VideoEncoder:
    """H.264 without delay: a frame goes in, its bytes come out.

    A stream keeps its size where it can, as a new one costs both ends more than a frame; it begins with a key frame.
    """

    def __init__(self) -> None:
        self._context: Any = None
        self._conversion: Any = None
        self._codec = ""
        self._count = 0
        self._threads = min(current().threads, MAX_THREADS)

    def encode(self, pixels: Voxels, is_key: bool) -> VideoFrame:
        """pixels: (height, width, 4); an odd row or column at the end is left out.

        Raises EncodingFailed. The next frame begins a new stream: one failure does not end the video.
        """
        av = _av()
        try:
            return self._encoded(pixels, is_key)
        except (av.FFmpegError, ValueError) as error:
            self._context = None
            raise EncodingFailed(f"A frame could not be encoded as video: {error}") from error

    def _encoded(self, pixels: Voxels, is_key: bool) -> VideoFrame:
        av, images = _av(), _av().video.frame.PictureType
        height, width = (length - length % 2 or length for length in pixels.shape[:2])
        size = max(width, MIN_VIDEO_EDGE), max(height, MIN_VIDEO_EDGE)
        if not self._holds(*size, is_key):
            self._open(*size)
            is_key = True
        shown = av.VideoFrame.from_numpy_buffer(pixels[:height, :width], format="rgba")
        width, height = self._context.width, self._context.height
        frame = self._conversion.reformat(
            shown, width, height, "yuv420p", dst_colorspace="ITU709", interpolation="BILINEAR", threads=self._threads
        )
        frame.pts, self._count = self._count, self._count + 1
        frame.pict_type = images.I if is_key else images.NONE
        packets = self._context.encode(frame)
        encoded = b"".join(bytes(packet) for packet in packets)
        if is_key:
            self._codec = codec_of(encoded)
        return VideoFrame(encoded, is_key, self._codec, width, height)

    def _holds(self, width: int, height: int, is_key: bool) -> bool:
        """Whether an image of this size goes on with the stream; a key frame is the time to fit it."""
        if self._context is None:
            return False
        smallest = 1.0 if is_key else MIN_SHARE
        return all(smallest <= share <= 1 for share in (width / self._context.width, height / self._context.height))

    def _open(self, width: int, height: int) -> None:
        # One for a stream: made anew for every frame, it would take longer to begin than to convert.
        self._conversion = _av().video.reformatter.VideoReformatter()
        context: Any = _av().CodecContext.create("libx264", "w")
        context.width, context.height, context.pix_fmt = width, height, "yuv420p"
        context.time_base = Fraction(1, FRAMES_PER_SECOND)
        context.gop_size = 2**30  # Key frames only where they are asked for: each costs ten others.
        context.options = {
            "preset": "ultrafast", "tune": "zerolatency", "qp": QUANTIZER, "profile": "baseline",
            "x264-params": f"repeat-headers=1:annexb=1:scenecut=0:sliced-threads=1:threads={self._threads}:"
            "colormatrix=bt709:colorprim=bt709:transfer=bt709:range=tv",
            "forced-idr": "1",
        }  # fmt: skip
        self._context = context


def prepare_video() -> None:
    """Load what the first frame of all would wait for: longer than it takes to draw."""
    VideoEncoder().encode(np.zeros((16, 16, 4), np.uint8), is_key=True)


def codec_of(encoded: bytes) -> str:
    """The name that WebCodecs has for a stream, from its first parameter set.

    >>> codec_of(bytes([0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x1F]))
    'avc1.42C01F'
    """
    start = encoded.find(b"\x00\x00\x01\x67")
    return f"avc1.{encoded[start + 4 : start + 7].hex().upper()}" if start >= 0 else ""


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise MissingPackage("av") from error
    return av
