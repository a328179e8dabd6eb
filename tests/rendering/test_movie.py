"""Movies: decoded again and counted; nothing incomplete under the final name."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from pellucid.errors import InvalidInput, OutputExists
from pellucid.formats.protocol import Voxels
from pellucid.rendering.movie import save_movie

COUNT = 7


def image(number: int, width: int = 97, height: int = 64) -> Voxels:
    """A coloured disc on a gradient that moves from left to right."""
    y, x = np.mgrid[:height, :width]
    rgba = np.stack([2 * x, 3 * y, 120 + 0 * x, 255 + 0 * x], axis=-1).clip(0, 255).astype(np.uint8)
    rgba[(x - 10 - 10 * number) ** 2 + (y - 30) ** 2 < 150] = (230, 60, 40, 255)
    return rgba


def psnr(one: Voxels, other: Voxels) -> float:
    return float(10 * np.log10(255**2 / np.mean((one.astype(float) - other) ** 2)))


def decoded(path: Path) -> tuple[list[Voxels], Fraction | None]:
    with av.open(str(path)) as movie:
        stream = movie.streams.video[0]
        return [frame.to_ndarray(format="rgb24") for frame in movie.decode(stream)], stream.average_rate


@pytest.mark.parametrize(("ending", "least_db"), [("mp4", 30.0), ("webm", 30.0), ("gif", 30.0)])
def test_every_picture_is_in_the_movie(tmp_path: Path, ending: str, least_db: float) -> None:
    path = tmp_path / f"a.{ending}"
    save_movie(path, image, COUNT, 25)
    frames, rate = decoded(path)
    assert len(frames) == COUNT
    assert rate == 25
    assert frames[0].shape == ((64, 97, 3) if ending == "gif" else (64, 98, 3))  # Colours are kept for 2 × 2 pixels.
    for number in (0, 3, COUNT - 1):
        assert psnr(frames[number][:, :97], image(number)[..., :3]) > least_db
    assert [found.name for found in tmp_path.iterdir()] == [f"a.{ending}"]


def test_players_are_told_the_colours_and_may_start_at_once(tmp_path: Path) -> None:
    save_movie(tmp_path / "a.mp4", image, 2)
    content = (tmp_path / "a.mp4").read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    with av.open(str(tmp_path / "a.mp4")) as movie:
        context = movie.streams.video[0].codec_context
        assert (context.pix_fmt, context.colorspace, context.color_range) == ("yuv420p", 1, 1)


def test_what_is_transparent_is_black(tmp_path: Path) -> None:
    save_movie(tmp_path / "a.mp4", lambda _: np.full((32, 32, 4), (255, 255, 255, 0), np.uint8), 1)
    assert decoded(tmp_path / "a.mp4")[0][0].max() < 3


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_an_interrupted_movie_leaves_the_one_before(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_text("the one before")

    def draw(number: int) -> Voxels:
        if number == 3:
            raise KeyboardInterrupt
        return image(number)

    with pytest.raises(KeyboardInterrupt):
        save_movie(path, draw, COUNT)
    assert path.read_text() == "the one before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder, drawn = tmp_path / "frames", []

    def draw(number: int, last: int) -> Voxels:
        if number == last:
            raise KeyboardInterrupt
        drawn.append(number)
        return image(number)

    with pytest.raises(KeyboardInterrupt):
        save_movie(folder, lambda number: draw(number, 3), COUNT, describe="this")
    assert sorted(found.name for found in folder.iterdir()) == ["0000.png", "0001.png", "0002.png", "movie.txt"]
    save_movie(folder, lambda number: draw(number, -1), COUNT, describe="this")
    assert drawn == list(range(COUNT))
    assert (np.asarray(Image.open(folder / "0005.png")) == image(5)).all()
    with pytest.raises(OutputExists, match="already exists"):
        save_movie(folder, image, COUNT, describe="that")


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(OutputExists):
        save_movie(tmp_path, image, COUNT)
    assert [found.name for found in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(
    ("name", "count", "reply"), [("a.avi", 3, "is not a valid movie name"), ("a.mp4", 0, "at least one frame")]
)
def test_what_cannot_be_made_is_told(tmp_path: Path, name: str, count: int, reply: str) -> None:
    with pytest.raises(InvalidInput, match=reply):
        save_movie(tmp_path / name, image, count)
