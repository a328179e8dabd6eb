"""Orientation and origin go through every format that can store them, and other programs read the same."""

import itertools
from pathlib import Path

import nibabel
import nrrd
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pellucid
from pellucid import progress
from pellucid.box import Box
from pellucid.formats.orientation import Orientation, describe_orientation, from_attributes, lost, to_attributes
from pellucid.volume.volume import Volume

STORING = ["a.nii", "a.nii.gz", "a.nrrd", "a.nhdr", "a.mha", "a.mhd", "a.h5", "a.zarr"]
NOT_STORING = ["a.tif", "a.npy", "a.n5"]
NO_SPACING = ["a.npy", "a_5x4x3_uint8.raw"]
LPS = np.diag([-1.0, -1.0, 1.0])
VOXELS = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)


def turned(seed: int, *, is_anatomical: bool = True) -> Orientation:
    """Random orthogonal directions, mirrored or not, and a random origin."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    x, y, z = (tuple(float(n) for n in axis) for axis in axes)
    origin = tuple(float(n) for n in rng.uniform(-90, 90, 3))
    return Orientation((x, y, z), origin, is_anatomical)  # type: ignore[arg-type]


def volume_with(orientation: Orientation | None, unit: str = "mm") -> Volume:
    return Volume.from_array(VOXELS, (2.5, 1.5, 0.75), unit, orientation)


def written(orientation: Orientation | None, path: Path) -> Volume:
    return pellucid.convert(volume_with(orientation), path, overwrite=True)


def assert_same(found: Orientation | None, expected: Orientation) -> None:
    assert found is not None
    np.testing.assert_allclose(found.axes, expected.axes, atol=1e-6)
    np.testing.assert_allclose(found.origin, expected.origin, rtol=1e-6, atol=1e-5)
    assert found.is_anatomical == expected.is_anatomical


@pytest.mark.parametrize("name", STORING)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_written_is_read(name: str, tmp_path: Path, seed: int) -> None:
    expected = turned(seed)
    with written(expected, tmp_path / name) as found:
        assert_same(found.orientation, expected)
        assert (found.read() == VOXELS).all()
        np.testing.assert_allclose(found.spacing, (2.5, 1.5, 0.75), rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in STORING if "nii" not in name])
def test_a_laboratory_s_space_is_no_patient_s(name: str, tmp_path: Path) -> None:
    expected = turned(5, is_anatomical=False)
    with written(expected, tmp_path / name) as found:
        assert_same(found.orientation, expected)


@pytest.mark.parametrize("name", [*STORING, *NOT_STORING])
def test_nothing_is_made_up_where_nothing_is_known(name: str, tmp_path: Path) -> None:
    with written(None, tmp_path / name) as found:
        assert found.orientation is None
        assert (found.up, found.front) == ("-z", None)


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_nibabel_reads_the_same_affine(name: str, tmp_path: Path) -> None:
    orientation = turned(1)
    written(orientation, tmp_path / name).close()
    image = nibabel.load(tmp_path / name)
    np.testing.assert_allclose(image.affine[:3], orientation.affine((2.5, 1.5, 0.75)), rtol=1e-5, atol=1e-5)
    assert "".join(nibabel.aff2axcodes(image.affine)) == orientation.code


@pytest.mark.parametrize("form", ["sform", "qform"])
def test_what_nibabel_wrote(form: str, tmp_path: Path) -> None:
    expected = turned(3)
    affine = np.vstack([expected.affine((2.5, 1.5, 0.75)), [0, 0, 0, 1]])
    image = nibabel.Nifti1Image(VOXELS.T.copy(), affine)
    image.set_sform(affine, code=1 if form == "sform" else 0)
    image.set_qform(affine, code=1 if form == "qform" else 0)
    nibabel.save(image, tmp_path / "a.nii")
    with pellucid.open(tmp_path / "a.nii") as volume:
        assert_same(volume.orientation, expected)


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_qform_along_the_axes_is_along_the_axes(kind: type, order: tuple[int, ...], tmp_path: Path) -> None:
    for signs in itertools.product((1, -1), repeat=3):
        affine = np.eye(4)
        affine[:3, :3] = np.eye(3)[:, list(order)] * signs * (0.75, 1.5, 2.5)
        image = kind(VOXELS.T.copy(), affine)
        image.set_sform(None, 0)
        image.set_qform(affine, 1)
        nibabel.save(image, tmp_path / "a.nii")
        with pellucid.open(tmp_path / "a.nii") as volume:
            assert volume.orientation is not None
            found = volume.orientation.affine(volume.spacing)
            np.testing.assert_allclose(found, nibabel.load(tmp_path / "a.nii").affine[:3], atol=2e-7)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1))
def test_a_qform_of_half_a_turn_about_any_axis(tmp_path: Path, seed: int) -> None:
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    affine = np.eye(4)
    affine[:3, :3] = 2 * np.outer(axis, axis) - np.eye(3)
    image = nibabel.Nifti1Image(VOXELS.T.copy(), affine)
    image.set_sform(None, 0)
    image.set_qform(affine, 1)
    nibabel.save(image, tmp_path / "a.nii")
    with pellucid.open(tmp_path / "a.nii") as volume:
        assert volume.orientation is not None
        np.testing.assert_allclose(volume.orientation.affine((1.0, 1.0, 1.0)), affine[:3], atol=5e-7)


def test_pynrrd_reads_the_same_directions(tmp_path: Path) -> None:
    orientation = turned(2)
    written(orientation, tmp_path / "a.nrrd").close()
    voxels, header = nrrd.read(str(tmp_path / "a.nrrd"))
    assert (voxels == VOXELS.T).all()
    assert header["space"] == "right-anterior-superior"
    affine = orientation.affine((2.5, 1.5, 0.75))
    np.testing.assert_allclose(header["space directions"], affine[:, :3].T)
    np.testing.assert_allclose(header["space origin"], affine[:, 3])
    assert header["space units"] == ["mm", "mm", "mm"]


@pytest.mark.parametrize(
    ("space", "signs"),
    [
        ("left-posterior-superior", (-1, -1, 1)),
        ("LPS", (-1, -1, 1)),
        ("RAS", (1, 1, 1)),
        ("left-anterior-superior", (-1, 1, 1)),
    ],
)
def test_what_pynrrd_wrote_in_any_space(space: str, signs: tuple[int, ...], tmp_path: Path) -> None:
    expected = turned(4)
    affine = np.diag(signs) @ expected.affine((2.5, 1.5, 0.75))
    header = {"space": space, "space directions": affine[:, :3].T, "space origin": affine[:, 3]}
    nrrd.write(str(tmp_path / "a.nrrd"), VOXELS.T.copy(), header)
    with pellucid.open(tmp_path / "a.nrrd") as volume:
        assert_same(volume.orientation, expected)


@pytest.mark.parametrize(("centers", "shift"), [("node", 0.0), ("cell", 0.5)])
def test_axis_mins_of_nrrd_are_the_place_along_the_axes(centers: str, shift: float, tmp_path: Path) -> None:
    header = {"spacings": [1.0, 2.0, 4.0], "axis mins": [10.0, -20.0, 30.0], "centerings": [centers] * 3}
    nrrd.write(str(tmp_path / "a.nrrd"), VOXELS.T.copy(), header)
    with pellucid.open(tmp_path / "a.nrrd") as volume:
        # x to the right, y towards the viewer, z down.
        expected = (10 + shift * 1, -(-20 + shift * 2), -(30 + shift * 4))
        assert_same(volume.orientation, Orientation(origin=expected))


def test_metaimage_is_in_the_space_that_itk_uses(tmp_path: Path) -> None:
    lines = {line.split(" = ")[0]: line.split(" = ")[1] for line in _metaimage(turned(6), tmp_path)}
    rows = np.array(lines["TransformMatrix"].split(), float).reshape(3, 3)
    np.testing.assert_allclose(rows, np.array(turned(6).axes) @ LPS, atol=1e-12)
    np.testing.assert_allclose(np.array(lines["Offset"].split(), float), turned(6).origin @ LPS)
    upright = Orientation(((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)), is_anatomical=True)
    assert "AnatomicalOrientation = RAI" in _metaimage(upright, tmp_path)
    printed = [line.replace("-0.0", "0.0") for line in _metaimage(upright, tmp_path)]
    assert "TransformMatrix = 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0" in printed


def _metaimage(orientation: Orientation, folder: Path) -> list[str]:
    written(orientation, folder / "a.mhd").close()
    return (folder / "a.mhd").read_text().splitlines()


def test_a_part_and_a_coarser_level_lie_where_they_lay(tmp_path: Path) -> None:
    voxels, orientation = np.zeros((12, 16, 20), np.uint8), turned(7)
    whole = Volume.from_array(voxels, (2.0, 1.0, 0.5), "mm", orientation)
    box = Box((4, 2, 6), (12, 16, 18))
    with pellucid.convert(whole, tmp_path / "part.zarr", box=box, levels=2) as part:
        affine = orientation.affine((2.0, 1.0, 0.5))
        assert part.orientation is not None
        np.testing.assert_allclose(part.orientation.origin, affine @ (6, 2, 4, 1), atol=1e-9)
        coarse = part.at_level(1)
        factors = np.divide(coarse.spacing, part.spacing)
        middle = np.array([6, 2, 4]) + (factors[::-1] - 1) / 2  # Between the voxels that it was made of.
        assert coarse.orientation is not None
        np.testing.assert_allclose(coarse.orientation.origin, affine @ (*middle, 1), atol=1e-9)
        with pellucid.convert(coarse, tmp_path / "coarse.nii") as kept:
            assert_same(kept.orientation, coarse.orientation)


@pytest.mark.parametrize("name", NOT_STORING)
def test_what_a_format_cannot_store_is_reported(name: str, tmp_path: Path) -> None:
    notes: list[str] = []
    with progress.use(progress.Callbacks(lambda update: None, notes.append)):
        written(Orientation(is_anatomical=True, origin=(1.0, 2.0, 3.0)), tmp_path / name).close()
        pellucid.convert(VOXELS, tmp_path / f"b{name[1:]}").close()
        pellucid.convert(Volume.from_array(VOXELS, orientation=Orientation()), tmp_path / f"c{name[1:]}").close()
    (note,) = notes  # What is assumed anyway is not lost.
    spacing = "the spacing (2.5, 1.5, 0.75) mm and " if name in NO_SPACING else ""
    assert f"does not store {spacing}that the space is a patient's and the origin (1, 2, 3). Write .zarr" in note


@pytest.mark.parametrize("name", [*STORING, *NOT_STORING, "a.nc", "a_5x4x3_uint8.raw"])
def test_a_spacing_that_is_not_stored_is_reported(name: str, tmp_path: Path) -> None:
    notes: list[str] = []
    with progress.use(progress.Callbacks(lambda update: None, notes.append)):
        written(None, tmp_path / name).close()
    expected = [f"{tmp_path / name} does not store the spacing (2.5, 1.5, 0.75) mm."] if name in NO_SPACING else []
    assert [note.split(" Write")[0] for note in notes] == expected


def test_a_laboratory_s_origin_makes_nifti_say_what_it_cannot(tmp_path: Path) -> None:
    notes: list[str] = []
    with progress.use(progress.Callbacks(lambda update: None, notes.append)):
        written(Orientation(origin=(1.0, 2.0, 3.0)), tmp_path / "a.nii").close()
    assert ["not a patient's" in note for note in notes] == [True]


def test_another_unit_of_length_moves_nothing(tmp_path: Path) -> None:
    volume = Volume.from_array(
        VOXELS, (25.0, 15.0, 7.5), "nm", Orientation(turned(8).axes, (100.0, 200.0, -300.0), True)
    )
    with pellucid.convert(volume, tmp_path / "a.nii") as found:
        assert found.unit == "um"
        assert found.orientation is not None
        np.testing.assert_allclose(found.orientation.origin, (0.1, 0.2, -0.3), rtol=1e-6)


def test_words() -> None:
    assert describe_orientation(turned(1)).startswith(turned(1).code)
    assert describe_orientation(Orientation()) == "x right, y front, z down; origin (0, 0, 0)"
    assert Orientation().code == "RFD"
    assert not Orientation().is_mirrored
    assert lost(None, None) == lost(Orientation(), None) == ""


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"space": None},
        {"space": ""},
        {"directions": [[1, 0], [0, 1]]},
        {"directions": np.zeros((3, 3)).tolist()},
        {"origin": [0, 0, float("nan")]},
    ],
)
def test_attributes_that_state_no_orientation(attributes: dict[str, object]) -> None:
    assert from_attributes(to_attributes(turned(9))) is not None
    assert from_attributes(attributes and to_attributes(turned(9)) | attributes) is None


@pytest.mark.parametrize("name", ["volumes/stroke_T1.nii.gz", "volumes/spm152.nii.gz", "volumes/engine.nii.gz"])
def test_real_files_have_nibabel_s_affine(name: str, shared_data: Path) -> None:
    image = nibabel.load(shared_data / name)
    with pellucid.open(shared_data / name) as volume:
        assert volume.orientation is not None
        affine = volume.orientation.affine(volume.spacing)
        assert (volume.up, volume.front) == ("z", "y")
    np.testing.assert_allclose(affine, image.affine[:3], rtol=1e-5, atol=1e-5)
