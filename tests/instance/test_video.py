"""H.264 for pages that can decode it."""

import av
import numpy as np
import pytest
from PIL import Image

from pellucid.formats.protocol import Voxels
from pellucid.instance.frames.encoders import EncodingFailed, VideoEncoder
from pellucid.instance.server import Instance
from tests.instance.loopback import open_page


def decoded(stream: list[bytes]) -> list[Voxels]:
    codec = av.CodecContext.create("h264", "r")
    frames = [frame for packet in stream for frame in codec.decode(av.Packet(packet))]
    return [frame.to_ndarray(format="rgb24") for frame in [*frames, *codec.decode(None)]]


def image(shift: int) -> Voxels:
    y, x = np.mgrid[0:64, 0:96]
    red = 40 + x + 4 * shift
    return np.stack([red, y * 2, 220 - red, np.full_like(x, 255)], axis=-1).astype(np.uint8)


def resized(pixels: Voxels, height: int, width: int) -> Voxels:
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))


def psnr(one: Voxels, other: Voxels) -> float:
    return float(10 * np.log10(255**2 / np.mean((one.astype(float) - other) ** 2)))


def test_every_frame_comes_out_at_once_and_looks_right() -> None:
    encoder = VideoEncoder()
    frames = [encoder.encode(image(shift), is_key=shift == 3) for shift in range(5)]
    assert [frame.is_key for frame in frames] == [True, False, False, True, False]
    assert all(frame.codec.startswith("avc1.42") and frame.encoded.startswith(b"\0\0\0\1") for frame in frames)
    for shift, shown in enumerate(decoded([frame.encoded for frame in frames])):
        assert psnr(shown, image(shift)[..., :3]) > 30
    # A decoder that begins at the second key frame needs nothing from before it.
    assert len(decoded([frame.encoded for frame in frames[3:]])) == 2


def test_a_much_smaller_picture_begins_a_new_stream_and_odd_edges_are_cut() -> None:
    encoder = VideoEncoder()
    encoder.encode(image(0), is_key=False)
    smaller = encoder.encode(np.ascontiguousarray(image(0)[:33, :35]), is_key=False)
    assert (smaller.width, smaller.height, smaller.is_key) == (34, 32, True)
    assert decoded([smaller.encoded])[0].shape == (32, 34, 3)


def test_a_picture_that_is_a_little_smaller_goes_on_with_the_stream() -> None:
    encoder = VideoEncoder()
    sizes = [(64, 96), (48, 72), (64, 96), (80, 120), (64, 96)]
    frames = [encoder.encode(resized(image(0), *size), is_key=False) for size in sizes]
    assert [(frame.height, frame.width) for frame in frames] == [(64, 96)] * 3 + [(80, 120)] * 2
    assert [frame.is_key for frame in frames] == [True, False, False, True, False]
    for shown in decoded([frame.encoded for frame in frames]):
        assert psnr(shown, resized(image(0), *shown.shape[:2])[..., :3]) > 30
    fitted = encoder.encode(resized(image(0), 48, 72), is_key=True)
    assert (fitted.height, fitted.width) == (48, 72)


@pytest.mark.parametrize(("height", "width"), [(800, 1), (1, 1), (3, 5), (800, 17), (16, 16)])
def test_frames_of_any_size_are_encoded_and_the_stream_goes_on(height: int, width: int) -> None:
    encoder = VideoEncoder()
    odd = encoder.encode(resized(image(0), height, width), is_key=False)
    assert decoded([odd.encoded])[0].shape == (odd.height, odd.width, 3)
    after = encoder.encode(image(0), is_key=False)
    assert after.is_key  # Of a size of its own.
    assert psnr(decoded([after.encoded])[0], resized(image(0), after.height, after.width)[..., :3]) > 30


def test_a_frame_that_cannot_be_encoded_does_not_end_the_video() -> None:
    encoder = VideoEncoder()
    encoder.encode(image(0), is_key=False)
    with pytest.raises(EncodingFailed, match="could not be encoded as video"):
        encoder.encode(np.zeros((64, 0, 4), np.uint8), is_key=False)
    after = encoder.encode(image(1), is_key=False)
    assert after.is_key and psnr(decoded([after.encoded])[0], image(1)[..., :3]) > 30


def test_a_page_that_can_gets_video_while_something_moves(instance: Instance) -> None:
    with open_page(instance, size=(96, 64), encodings=["jpeg", "png", "h264"]) as page:
        exact = page.exact()
        camera = page.scene.camera
        page.look(camera, is_moving=True)
        moving = page.hear_picture()
        assert (moving.header["encoding"], moving.header["is_exact"]) == ("h264", False)
        assert moving.header["codec"].startswith("avc1.")
        assert page.exact(camera=camera).header["encoding"] == "png"
        stream = [moving.encoded] if moving.header["is_key"] else []
        page.say("key_frame")
        page.look(camera.turned(5.0), is_moving=True)
        while not (key := page.hear_picture()).header["is_key"]:
            pass
        (shown,) = decoded([*stream, key.encoded][-1:])
    assert shown.shape[:2] == (key.header["height"], key.header["width"])
    assert exact.rgb.shape == (64, 96, 3)


def test_a_page_without_room_for_a_frame_leaves_the_video_of_others_alone(instance: Instance) -> None:
    encodings = ["jpeg", "png", "h264"]
    with open_page(instance, size=(1, 800), encodings=encodings) as narrow:
        narrow.exact()
        with open_page(instance, size=(96, 64), encodings=encodings) as wide:
            wide.exact()
            narrow.look(narrow.scene.camera.turned(5.0), is_moving=True)
            assert [page.hear_picture().header["encoding"] for page in (narrow, wide)] == ["h264", "h264"]
            wide.say("request_controls")
            wide.look(wide.scene.camera.turned(9.0), is_moving=True)
            while (moving := wide.hear_picture().header)["full_width"] != 96 or moving["is_exact"]:
                pass
            assert moving["encoding"] == "h264"
