"""``pellucid render``: every option does what it says."""

import json
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

import pellucid
from pellucid.cli.main import main
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.camera_path import CameraPath, KeyFrame
from pellucid.rendering.presets.builtin import PRESETS
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.scene import Scene
from pellucid.rendering.transfer import Edges

SMALL = ["--size", "100x80"]


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """A ball with a core, 2 mm between slices."""
    z, y, x = np.meshgrid(*[np.arange(40) - 19.5] * 3, indexing="ij")
    radius = np.sqrt(4 * z**2 + y**2 + x**2)
    voxels = ((radius < 15) * 100 + (radius < 7) * 100).astype(np.uint8)
    pellucid.convert(pellucid.Volume.from_array(voxels, (2.0, 1.0, 1.0), "mm"), tmp_path / "scan.nrrd").close()
    return tmp_path / "scan.nrrd"


def drawn(scan: Path, *options: str) -> Voxels:
    output = scan.parent / "picture.png"
    assert main(["--quiet", "render", str(scan), "-o", str(output), *SMALL, *options]) == 0
    return np.asarray(Image.open(output))


def scene_of(scan: Path, *options: str) -> Scene:
    saved = scan.parent / "saved.json"
    drawn(scan, *options, "--save-scene", str(saved))
    return Scene.from_json(saved.read_text())


def psnr(one: Voxels, other: Voxels) -> float:
    return float(10 * np.log10(255**2 / max(1e-9, np.mean((one.astype(float) - other) ** 2))))


def test_look(scan: Path) -> None:
    (layer,) = scene_of(scan, "--mode", "max", "--shading", "shadow", "--range", "20,150", "--clip", ":,20:,:").volumes
    assert (layer.mode, layer.shading, layer.transfer.value_range) == ("max", "shadow", (20.0, 150.0))
    assert layer.clip == pellucid.Box((0, 20, 0), (40, 40, 40))
    (layer,) = scene_of(scan, "--isovalue", "50", "--isovalue", "150", "--preset", "viridis").volumes
    assert (layer.mode, [surface.value for surface in layer.isosurfaces]) == ("isosurface", [50.0, 150.0])
    assert scene_of(scan, "--shading", "ao").volumes[0].shading == "occlusion"
    plain, denser = scene_of(scan).volumes[0], scene_of(scan, "--opacity", "2").volumes[0]
    for (_, one), (_, two) in zip(plain.transfer.opacities, denser.transfer.opacities, strict=True):
        assert two == pytest.approx(1 - (1 - one) ** 2)


@pytest.mark.parametrize("mode", ["max", "min", "mean"])
@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
def test_a_range_is_linear_in_projections(mode: str, level: float, tmp_path: Path) -> None:
    voxels = np.zeros((32, 32, 32), np.float32)
    voxels[8:24, 8:24, 8:24] = level
    voxels[20:22, 20:22, 20:22] = 1
    voxels = 1 - voxels if mode == "min" else voxels
    np.save(tmp_path / "cube.npy", voxels)
    look = ["--mode", mode, "--preset", "gray", "--range", "0,1", "--orthographic", "--view", "front"]
    image = drawn(tmp_path / "cube.npy", *look)
    expected = getattr(voxels, mode)(axis=1)[16, 16]
    assert image[40, 50, :3] / 255 == pytest.approx(np.full(3, expected), abs=0.01)


def test_a_range_keeps_the_colours_of_a_projection(scan: Path) -> None:
    projection = ["--mode", "max", "--range", "0,200", "--gamma", "2"]
    (layer,) = scene_of(scan, *projection).volumes
    assert (layer.transfer.gamma, layer.transfer.value_range) == (2.0, (0.0, 200.0))
    assert layer.transfer.colors == ((0.0, (0.0, 0.0, 0.0)), *color_points("bone")[1:])
    (layer,) = scene_of(scan, *projection, "--preset", "dense").volumes
    assert layer.transfer.colors == PRESETS["dense"].colors
    automatic = scene_of(scan, "--mode", "max").volumes[0].transfer
    edited = (scan.parent / "saved.json").rename(scan.parent / "edited.json")
    (layer,) = scene_of(edited, "--range", "0,200").volumes
    assert layer.transfer.colors == automatic.colors  # Those of a saved scene are the user's own.


def test_finer_points_of_the_transfer_function(scan: Path) -> None:
    (layer,) = scene_of(scan, "--gamma", "0.5", "--edges", "10,40", "--preintegrated").volumes
    assert (layer.transfer.gamma, layer.transfer.is_preintegrated) == (0.5, True)
    assert layer.transfer.edges == Edges(((0.0, 0.0), (0.25, 0.0), (1.0, 1.0)), (0.0, 40.0))


def test_a_shading_from_a_file(scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "#@ green = 0.25 in 0 .. 1\ndef shade(green):\n    return wp.vec3(0.0, green, 1.0)\n"
    (scan.parent / "blue.py").write_text(text)
    solid = ["--opacity", "50", "--shading-file", str(scan.parent / "blue.py")]
    assert drawn(scan, *solid, "--parameter", "green=0.5")[40, 50, :3].tolist() == pytest.approx([0, 128, 255], abs=2)
    (scan.parent / "blue.py").write_text(text.replace("wp.vec3(0.0", "wp.vec3(none"))
    assert main(["render", str(scan), "-o", str(scan.parent / "a.png"), *SMALL, *solid]) == 1
    assert "Line 3 of the shading" in capsys.readouterr().err


def test_background(scan: Path) -> None:
    corner = (0, 0)
    assert drawn(scan)[corner].tolist() == [0, 0, 0, 255]
    assert drawn(scan, "--background", "#204080")[corner].tolist() == [32, 64, 128, 255]
    clear = drawn(scan, "--background", "transparent")
    assert clear[corner][3] == 0
    assert clear[40, 50, 3] > 250


@pytest.mark.parametrize("ending", ["jpg", "tif", "webp"])
def test_other_kinds_of_pictures(scan: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"a.{ending}"
    assert main(["render", str(scan), "-o", str(output), *SMALL]) == 0
    assert psnr(np.asarray(Image.open(output).convert("RGB")), drawn(scan)[..., :3]) > 30


def test_labels_alone_are_the_volume(scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--labels", str(scan), "-o", str(tmp_path / "a.png")]) == 1
    assert "Pass the label file as the volume." in capsys.readouterr().err


@pytest.mark.parametrize("value", ["-1", "0", "300"])
def test_an_isovalue_outside_the_values_is_refused(
    value: str, scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", str(scan), "-o", str(tmp_path / "a.png"), *SMALL, f"--isovalue={value}"]) == 1
    with pellucid.open(scan) as volume:
        low, high = volume.value_range
    assert f"The isovalue {value} is outside the values of the volume, which are from {low:g} to {high:g}." in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "a.png").exists()


def test_smooth_edges(scan: Path) -> None:
    options = ["--isovalue", "50", "--shading", "none"]
    plain, smooth = (drawn(scan, *options, *more)[..., 0] for more in ([], ["--smooth"]))
    between = [((image > 20) & (image < image.max() - 20)).sum() for image in (plain, smooth)]
    assert between[1] > between[0] + 40  # The outline alone is longer than that.


def test_camera(scan: Path) -> None:
    front = scene_of(scan, "--view", "front").camera
    assert front.axes()[2] == pytest.approx((0.0, -1.0, 0.0))
    assert scene_of(scan, "--view", "front", "--azimuth", "90").camera.axes()[2] == pytest.approx((-1.0, 0.0, 0.0))
    assert scene_of(scan, "--view", "front", "--elevation", "30").camera.axes()[2][2] == pytest.approx(0.5)
    assert scene_of(scan, "--up=-y", "--view", "front").camera.up == (0.0, -1.0, 0.0)
    flat = scene_of(scan, "--view", "front", "--orthographic", "--zoom", "2").camera
    assert flat.field_of_view_deg is None
    assert flat.height == pytest.approx(front.visible_height / 2)
    assert (drawn(scan, "--zoom", "2")[..., 0] > 0).sum() > 2 * (drawn(scan)[..., 0] > 0).sum()


def test_annotations(scan: Path) -> None:
    marks = scene_of(scan, "--annotate").annotations
    assert (marks.is_scale_bar, marks.is_axes, marks.unit) == (True, True, "mm")
    plain, marked = drawn(scan), drawn(scan, "--scale-bar")
    assert (plain != marked).any(axis=-1)[60:, 50:].any()
    assert (plain == marked)[:, :50].all()


def test_slices_and_labels(scan: Path) -> None:
    scene = scene_of(scan, "--slice", "z=10", "--slice", "x=3", "--labels", str(scan))
    assert [one.point for one in scene.slices] == [(0.0, 0.0, 20.0), (3.0, 0.0, 0.0)]
    assert scene.volumes[1].labels is not None


def test_a_step_of_a_series(scan: Path, tmp_path: Path) -> None:
    with pellucid.open(scan) as volume:
        steps = np.stack([volume.read()[::-1, ::-1] // 2, volume.read()])
    np.save(tmp_path / "steps.npy", steps)
    np.save(tmp_path / "second.npy", steps[1])
    series = tmp_path / "steps.npy"
    scene = scene_of(series, "--time", "0.8", "--slice", "z=3")
    assert (scene.time, scene.volumes[0].source, scene.slices[0].source) == (0.8, str(series), str(series))
    assert np.array_equal(drawn(series, "--time", "1"), drawn(tmp_path / "second.npy"))
    saved = tmp_path / "saved.json"
    assert np.array_equal(drawn(saved, "--time", "1"), drawn(series, "--time", "0.8", "--slice", "z=3"))


def test_labels_without_spacing_lie_in_their_volume(scan: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.ones((40, 40, 40), np.uint16))
    assert scene_of(scan, "--labels", str(tmp_path / "labels.npy")).volumes[1].transform.scale == (1.0, 1.0, 2.0)


def test_a_saved_scene_takes_options(scan: Path, tmp_path: Path) -> None:
    scene_of(scan, "--shading", "occlusion", "--view", "top")
    saved, again = tmp_path / "saved.json", tmp_path / "again.json"
    options = ["--preset", "gray", "--range", "0,99", "--axes", "--save-scene", str(again), *SMALL]
    assert main(["render", str(saved), "-o", str(tmp_path / "a.png"), *options]) == 0
    scene, before = Scene.from_json(again.read_text()), Scene.from_json(saved.read_text())
    assert scene.camera == before.camera
    assert scene.volumes[0].transfer.value_range == (0.0, 99.0)
    assert scene.annotations.is_axes


def test_beside_another(scan: Path, tmp_path: Path) -> None:
    with pellucid.open(scan) as volume:
        other = pellucid.Volume.from_array(volume.read()[:, ::-1] // 2, volume.spacing, volume.unit)
    pellucid.convert(other, tmp_path / "other.nrrd").close()
    options = ["--view", "front", "--size", "203x100"]
    both = drawn(scan, *options, "--compare", str(tmp_path / "other.nrrd"))
    assert both.shape == (100, 203, 4)
    assert (both[:, 100:102] == (128, 128, 128, 255)).all()
    alone = drawn(scan, "--view", "front", "--size", "100x100")
    assert (both[20:, :100] == alone[20:]).all()  # Above it is a caption.
    seen = [half[20:, :, 0] > 8 for half in (both[:, :100], both[:, 102:202])]
    assert (seen[0] != seen[1]).mean() < 0.05  # The same camera: the same outline,
    assert both[50, 50, 0] > 1.2 * both[50, 152, 0]  # and the same colours: half the value is darker.
    own = drawn(scan, *options, "--compare", str(tmp_path / "other.nrrd"), "--compare-own-colors")
    assert own[50, 50, 0] < 1.1 * own[50, 152, 0]


def test_a_turntable(scan: Path, tmp_path: Path) -> None:
    movie = tmp_path / "around.mp4"
    assert main(["--quiet", "render", str(scan), "-o", str(movie), "--turntable", "6", "--fps", "12", *SMALL]) == 0
    with av.open(str(movie)) as opened:
        frames = [frame.to_ndarray(format="rgb24") for frame in opened.decode(video=0)]
        assert opened.streams.video[0].average_rate == 12
    assert [frame.shape for frame in frames] == [(80, 100, 3)] * 6
    assert psnr(frames[3], drawn(scan, "--azimuth", "180")[..., :3]) > 30


def test_a_path_into_a_folder(scan: Path, tmp_path: Path) -> None:
    cameras = [Camera((20.0, y, 40.0), (20.0, 20.0, 40.0), (0.0, 0.0, 1.0)) for y in (-150.0, -90.0)]
    path = CameraPath((KeyFrame(0.0, cameras[0]), KeyFrame(1.0, cameras[1])))
    (tmp_path / "path.json").write_text(path.to_json())
    options = ["--path", str(tmp_path / "path.json"), "--fps", "4", "-o", str(tmp_path / "frames"), *SMALL]
    assert main(["--quiet", "render", str(scan), *options]) == 0
    images = sorted((tmp_path / "frames").glob("*.png"))
    assert [image.name for image in images] == [f"{number:04}.png" for number in range(5)]
    seen = [(np.asarray(Image.open(image))[..., 0] > 0).sum() for image in images]
    assert seen == sorted(seen) and seen[-1] > 2 * seen[0]  # It comes nearer.
    assert main(["--quiet", "render", str(scan), *options]) == 0  # Everything is there already.
    assert main(["--quiet", "render", str(scan), *options, "--shading", "none"]) == 1


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        (["-o", "{folder}/a.mp4"], "Add --turntable 120 or --path."),
        (["-o", "{folder}/a.png", "--turntable", "5"], "a.png is not a valid movie name"),
        (["-o", "{folder}/nowhere/a.png"], "Create it, or choose another output."),
        (["-o", "{folder}/a.xyz"], "Use a name that ends in .png"),
        (["-o", "{folder}/a.png", "--slice", "z=40"], "Choose z from 0 to 39."),
        (["-o", "{folder}/a.png", "--clip", "0:99,:,:"], "0 <= start < stop <= 40"),
        (["-o", "{folder}/a.png", "--preset", "rust"], "Unknown preset 'rust'"),
        (["-o", "{folder}/a.png", "--compare", "nowhere"], "nowhere does not exist."),
        (["-o", "{folder}/a.mp4", "--path", "nowhere.json"], "No such file"),
        (["-o", "{folder}/a.png", "--parameter", "strength=1"], "Add --shading-file FILE."),
        (
            ["-o", "{folder}/a.mp4", "--path", "p.json", "--turntable", "3"],
            "--turntable and --path cannot be combined.",
        ),
    ],
)
def test_errors_say_what_to_do(
    options: list[str], reply: str, scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", str(scan), *[one.format(folder=tmp_path) for one in options]]) == 1
    assert reply in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"scan.nrrd"}


@pytest.mark.parametrize(
    "wrong", [["--background", "mauve"], ["--zoom", "0"], ["--slice", "w=3"], ["--view", "inside"], ["--size", "0x20"]]
)
def test_misuse_shows_the_usage(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["render", "a", "-o", "b.png", *wrong])
    assert ended.value.code == 2
    assert "usage: pellucid" in capsys.readouterr().err


def test_a_scene_is_plain_json(scan: Path, tmp_path: Path) -> None:
    scene_of(scan, "--annotate")
    assert json.loads((tmp_path / "saved.json").read_text())["annotations"]["unit"] == "mm"
