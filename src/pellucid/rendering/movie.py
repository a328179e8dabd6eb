"""Writing images as a movie file, or as numbered images in a folder.

Here: encoding (MP4, WebM, GIF), writing under the final name only what is complete, going on with a folder.
Not here: drawing the images (renderer), where the camera goes (camera_path).
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import progress
from pellucid.errors import InvalidInput, OutputExists
from pellucid.formats.local_files import write_whole, written_whole
from pellucid.formats.protocol import Voxels

Draw = Callable[[int], Voxels]
STAMP = "movie.txt"
NUMBERED = re.compile(r"\d{4,}\.png")
BT709 = 1


@dataclass(frozen=True)
class MovieFormat:
    """A kind of movie file. container, codec, pixels: as FFmpeg names them; options: of its encoder and container."""

    container: str
    codec: str
    pixels: str
    options: dict[str, str] = field(default_factory=dict)
    container_options: dict[str, str] = field(default_factory=dict)


KINDS = {
    ".mp4": MovieFormat("mp4", "libx264", "yuv420p", {"crf": "18", "preset": "medium"}, {"movflags": "+faststart"}),
    ".webm": MovieFormat("webm", "libvpx-vp9", "yuv420p", {"crf": "28", "b": "0", "row-mt": "1", "cpu-used": "4"}),
    ".gif": MovieFormat("gif", "gif", "pal8"),
}


def is_movie(path: Path) -> bool:
    """Whether a name asks for a movie file or for a folder of images, and not for one image."""
    return path.suffix.lower() in KINDS or not path.suffix


def save_movie(path: Path, draw: Draw, count: int, frames_per_second: float = 30.0, describe: str = "") -> None:
    """Write ``count`` images, ``draw(0)`` to ``draw(count - 1)``: (height, width, 4) uint8, all of one size.

    One image is in memory at a time. A name without an extension is a folder of numbered PNG files; called again with
    the same ``describe``, it continues. A movie file has its final name only when it is complete.
    """
    if count < 1 or not 0 < frames_per_second <= 240:
        raise InvalidInput(
            f"Invalid movie: {count} frames at {frames_per_second} frames per second.",
            remedy="Use at least one frame, and 1 to 240 frames per second.",
        )
    if path.suffix.lower() not in KINDS and path.suffix:
        raise InvalidInput(
            f"{path} is not a valid movie name.",
            remedy=f"Use a name that ends in {', '.join(KINDS)}, or a folder for images.",
        )
    if path.suffix:
        _save_file(path, KINDS[path.suffix.lower()], _counted(draw, range(count)), frames_per_second)
    else:
        _save_folder(path, draw, count, describe)


def clear_movie_folder(folder: Path) -> None:
    """Remove the numbered images of an earlier movie; a folder with anything else in it is refused."""
    entries = sorted(folder.iterdir())
    is_ours = (folder / STAMP).is_file()
    foreign = [entry for entry in entries if entry.name != STAMP and not (is_ours and NUMBERED.fullmatch(entry.name))]
    if foreign:
        raise InvalidInput(
            f"{folder} also contains {foreign[0].name!r}, which is not part of a movie and would be lost.",
            remedy="Choose another folder, or move that file first.",
        )
    for entry in entries:
        entry.unlink()


def _counted(draw: Draw, numbers: range | list[int]) -> Iterator[Voxels]:
    with progress.task("Rendering frames", total=len(numbers), unit="frames") as bar:
        for number in numbers:
            yield draw(number)
            bar.advance()


def _save_file(path: Path, kind: MovieFormat, images: Iterator[Voxels], frames_per_second: float) -> None:
    import av

    with (
        written_whole(path) as file,
        # By its descriptor: the index is moved to the front of a movie by opening it again.
        av.open(
            f"/dev/fd/{file.fileno()}", "w", format=kind.container, container_options=kind.container_options
        ) as output,
    ):
        stream: Any = None
        for rgba in images:
            pixels = _even(_opaque(rgba)) if kind.pixels == "yuv420p" else _opaque(rgba)
            stream = stream or _stream(output, kind, pixels, frames_per_second)
            for packet in stream.encode(_frame(pixels, kind)):
                output.mux(packet)
        for packet in stream.encode():
            output.mux(packet)


def _stream(output: Any, kind: MovieFormat, pixels: Voxels, frames_per_second: float) -> Any:
    rate = Fraction(frames_per_second).limit_denominator(1001)
    stream = output.add_stream(kind.codec, rate=rate, options=kind.options)
    stream.height, stream.width = pixels.shape[:2]
    stream.pix_fmt = kind.pixels
    if kind.pixels == "yuv420p":  # Said in the file, or players guess the colours from the size.
        context = stream.codec_context
        context.colorspace = context.color_primaries = context.color_trc = BT709
        context.color_range = 1
    return stream


def _frame(pixels: Voxels, kind: MovieFormat) -> Any:
    from av import VideoFrame

    if kind.pixels == "pal8":
        return _with_palette(pixels)
    frame = VideoFrame.from_ndarray(pixels, format="rgb24")
    return frame.reformat(format=kind.pixels, dst_colorspace="ITU709", dst_color_range="MPEG")


def _with_palette(pixels: Voxels) -> Any:
    """The 256 colours that suit this image best."""
    from av import VideoFrame
    from PIL import Image

    reduced = Image.fromarray(pixels).quantize(256, dither=Image.Dither.FLOYDSTEINBERG)
    palette = np.zeros((256, 4), np.uint8)
    colors = np.array(reduced.getpalette("RGB"), np.uint8).reshape(-1, 3)
    palette[: len(colors)] = np.concatenate([np.full((len(colors), 1), 255, np.uint8), colors], axis=1)
    both: Any = (np.asarray(reduced), palette)
    return VideoFrame.from_ndarray(both, format="pal8")


def _opaque(rgba: Voxels) -> Voxels:
    """Over black: movies have no transparency that players agree on."""
    over: Voxels = (rgba[..., :3].astype(np.uint16) * rgba[..., 3:] + 127) // 255
    return over.astype(np.uint8)


def _even(pixels: Voxels) -> Voxels:
    """The last row and column repeated where their number is odd: colours are kept for blocks of 2 × 2."""
    height, width = pixels.shape[:2]
    padded: Voxels = np.ascontiguousarray(np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), "edge"))
    return padded


def _save_folder(folder: Path, draw: Draw, count: int, describe: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stamp = hashlib.sha256(describe.encode()).hexdigest()
    _check_same(folder, stamp)
    write_whole(folder / STAMP, f"{stamp}\n")
    missing = [number for number in range(count) if not _numbered(folder, number, count).exists()]
    for number, rgba in zip(missing, _counted(draw, missing), strict=True):
        with written_whole(_numbered(folder, number, count)) as file:
            from PIL import Image

            Image.fromarray(rgba).save(file, "PNG")


def _check_same(folder: Path, stamp: str) -> None:
    """Images of another movie must not stand among those of this one."""
    kept = folder / STAMP
    is_other = kept.read_text().strip() != stamp if kept.exists() else any(folder.iterdir())
    if is_other:
        raise OutputExists(str(folder))


def _numbered(folder: Path, number: int, count: int) -> Path:
    return folder / f"{number:0{max(4, len(str(count - 1)))}d}.png"
