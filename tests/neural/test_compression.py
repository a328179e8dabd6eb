"""``pellucid compress`` as a user runs it, on small volumes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import pellucid as pl
from pellucid.cli.main import main
from pellucid.errors import InvalidInput, OutputExists
from pellucid.formats.neural_field.residual import coded_brick
from pellucid.neural import fitting
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.neural.models import make_network
from pellucid.neural.quality import measure
from pellucid.neural.residual_coding import bounded_size
from pellucid.volume.volume import Volume, open_volume


def write(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def smooth(dtype: str = "float32", shape: tuple[int, int, int] = (20, 22, 30)) -> Any:
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")
    values = np.exp(-4 * (x**2 + y**2 + z**2)) + 0.1 * np.sin(6 * x + 3 * y)
    if np.dtype(dtype).kind in "iu":
        values = np.rint((values - values.min()) / np.ptp(values) * 200)
    return values.astype(dtype)


@pytest.fixture(scope="module")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, Any]:
    folder = tmp_path_factory.mktemp("compressed")
    array = smooth("uint8")
    source = write(folder / "a.npy", array)
    report = compress(
        f"{source}:spacing=2,1,1,unit=um",
        folder / "a.plf",
        CompressionOptions(size=6000, steps=100, batch=512, device="cpu"),
    )
    return array, folder / "a.plf", report


def test_a_model_that_takes_too_many_bytes_is_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far better than rounding it once more."""
    monkeypatch.setattr("pellucid.neural.fitting.BITS", 2.5)
    z, y, x = np.meshgrid(*[np.linspace(0, 1, n) for n in (20, 22, 24)], indexing="ij")
    waves = np.sin(19 * x + 7 * y) * np.cos(17 * z - 5 * x) + np.sin(11 * y * z + 15 * x)
    np.save(tmp_path / "a.npy", waves.astype(np.float32))
    psnr = []
    for refits in (0, 3):
        monkeypatch.setattr("pellucid.neural.fitting.MAX_REFITS", refits)
        options = CompressionOptions(size=9000, steps=600, batch=512, device="cpu")
        report = compress(tmp_path / "a.npy", tmp_path / f"{refits}.plf", options)
        assert 7000 < report.file_bytes <= 9000
        psnr.append(report.quality.psnr)
    assert psnr[1] > psnr[0] + 1, psnr


@pytest.mark.parametrize("size", [5000, 7000, 9000, 16_384, 21_000, 23_900, 25_000, 60_000, 131_072])
def test_parameters_and_their_decoder_fit_together(size: int) -> None:
    """A decoder that is wider than expected leaves too few bytes: features would be rounded to half of their bits."""
    parameters = fitting._parameters_for(size)
    network = make_network("adaptive", parameters, (256, 256, 256))
    bits = fitting.BITS if size < fitting.MANY_BYTES else fitting.BITS_OF_MANY
    weight_bits = 11 if parameters >= fitting.MANY_FEATURES else 8.2  # As in files of scans.
    decoder = sum(weights.numel() for weights in network.weights) * weight_bits / 8 + 48 * 16
    assert 0.75 * size < parameters * bits / 8 + decoder < 1.02 * size


@pytest.mark.parametrize("is_limited", [False, True])
def test_a_model_that_leaves_bytes_unused_is_rounded_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_limited: bool
) -> None:
    """And one whose steps were given has no more of them."""
    monkeypatch.setattr("pellucid.neural.fitting.BITS", 8.0)
    monkeypatch.setattr("pellucid.neural.fitting.CPU_STEPS", 400)
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((16, 15, 14), np.float32))
    reports = []
    for refits in (0, 3):
        monkeypatch.setattr("pellucid.neural.fitting.MAX_REFITS", refits)
        options = CompressionOptions(size=9000, steps=400 if is_limited else None, batch=512, device="cpu")
        reports.append(compress(tmp_path / "a.npy", tmp_path / f"{refits}.plf", options))
    few, all_ = reports
    assert few.file_bytes < 0.85 * 9000
    if is_limited:
        assert (all_.file_bytes, all_.training.steps) == (few.file_bytes, 400)
    else:
        assert few.file_bytes + 400 < all_.file_bytes <= 9000
        assert all_.training.steps == 500
        assert all_.quality.psnr > few.quality.psnr + 0.1


def test_a_field_opens_like_the_volume(compressed: tuple[Any, Path, Any]) -> None:
    array, path, report = compressed
    with pl.open(path) as volume:
        assert (volume.shape, volume.dtype, volume.spacing, volume.unit) == (array.shape, array.dtype, (2, 1, 1), "um")
        found = volume.read().astype(float)
    psnr = 20 * np.log10(float(np.ptp(array))) - 10 * np.log10(np.mean((found - array) ** 2))
    assert psnr == pytest.approx(report.quality.psnr, abs=0.01)
    assert psnr > 25
    assert np.abs(found - array).max() == report.quality.max_error
    assert report.field_bytes < report.file_bytes <= 6000
    assert report.file_bytes == path.stat().st_size


def test_the_same_seed_gives_the_same_file(compressed: tuple[Any, Path, Any], tmp_path: Path) -> None:
    array, path, _ = compressed
    source = f"{write(tmp_path / 'a.npy', array)}:spacing=2,1,1,unit=um"
    compress(source, tmp_path / "b.plf", CompressionOptions(size=6000, steps=100, batch=512, device="cpu"))
    with pl.open(path) as first, pl.open(tmp_path / "b.plf") as second:
        assert np.array_equal(first.read(), second.read())


def test_under_a_bound_a_field_of_noise_is_small(tmp_path: Path) -> None:
    """Without a size: the file has hardly more bytes than the voxels of its brick would have."""
    noise = np.random.default_rng(0).normal(size=(72, 72, 72)).astype(np.float32)
    bound = 0.05
    alone = len(coded_brick(noise, bound))
    with open_volume(write(tmp_path / "a.npy", noise)) as volume:
        assert bounded_size(volume, bound) == pytest.approx(alone / 30, abs=2)
    report = compress(tmp_path / "a.npy", tmp_path / "a.plf", CompressionOptions(steps=2, batch=64, max_error=bound))
    assert report.quality.max_error <= bound
    assert report.file_bytes < 1.06 * alone


def test_under_a_bound_a_smooth_field_has_a_larger_share() -> None:
    axis = np.linspace(-2, 2, 64, dtype=np.float32)
    ball = np.exp(-(axis**2) - (axis**2)[:, None] - (axis**2)[:, None, None])
    with Volume.from_array(ball) as volume:
        assert bounded_size(volume, 1e-4) == max(len(coded_brick(ball, 1e-4)) // 3, 8192)
        assert bounded_size(volume, 1e-7) > len(coded_brick(ball, 1e-7)) / 30


@pytest.mark.parametrize(
    ("dtype", "bound"), [("float32", 0.01), ("uint8", 2), ("uint8", 0.5), ("int16", 3), ("uint16", 1)]
)
def test_every_voxel_is_within_the_bound(dtype: str, bound: float, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    array = smooth(dtype)
    noise = random.normal(size=array.shape) * (0.05 if dtype == "float32" else 10)
    array = np.clip(array + noise, 0, None).astype(dtype)
    options = CompressionOptions(size=6000, steps=20, batch=256, max_error=bound)
    report = compress(write(tmp_path / "a.npy", array), tmp_path / "a.plf", options)
    with pl.open(tmp_path / "a.plf") as volume:
        error = np.abs(volume.read().astype(float) - array)
        assert error.max() <= bound
        part = volume[3:9, 4:20, 5:11]
        assert np.allclose(part, volume.read()[3:9, 4:20, 5:11], atol=1e-6)
    assert report.residual_bytes > 0
    assert report.field_bytes <= 6000


@pytest.mark.parametrize(
    ("scale", "offset", "dtype", "bound"),
    [(1e30, 0, "float32", 1e28), (1, 1e6, "float32", 0.2), (1, 0, "float16", 0.002), (1e-42, 0, "float32", 1e-43)],
)
def test_the_bound_holds_for_any_size_of_values(
    scale: float, offset: float, dtype: str, bound: float, tmp_path: Path
) -> None:
    array = (smooth("float64", (7, 8, 9)) * scale + offset).astype(dtype)
    options = CompressionOptions(size=6000, steps=2, batch=64, max_error=bound)
    compress(write(tmp_path / "a.npy", array), tmp_path / "a.plf", options)
    with pl.open(tmp_path / "a.plf") as volume:
        assert np.abs(volume.read().astype(float) - array.astype(float)).max() <= bound


@pytest.mark.parametrize(("scale", "dtype"), [(3e38, "float32"), (1e300, "float64")])
def test_values_too_large_for_a_field_are_refused(scale: float, dtype: str, tmp_path: Path) -> None:
    source = write(tmp_path / "a.npy", (smooth("float64", (4, 5, 6)) * scale).astype(dtype))
    with pytest.raises(InvalidInput, match="too large for a neural field"):
        compress(source, tmp_path / "a.plf", CompressionOptions(steps=2, max_error=scale / 100))


def test_an_offset_counts_as_imprecision(tmp_path: Path) -> None:
    """Next to 1e6, float32 has steps of 1/16: another machine may round the other way."""
    source = write(tmp_path / "a.npy", smooth("float64", (4, 5, 6)) + 1e6)
    with pytest.raises(InvalidInput, match=r"differ by 0\.063"):
        compress(source, tmp_path / "a.plf", CompressionOptions(steps=2, size=6000, max_error=0.05))


def test_values_that_are_not_finite_are_infinite_errors() -> None:
    volume = Volume.from_array(smooth("float32", (4, 5, 6)))
    assert measure(volume, lambda box: np.full(box.shape, np.nan)).max_error == np.inf


def test_a_quality_is_reached(tmp_path: Path) -> None:
    source = write(tmp_path / "a.npy", smooth())
    report = compress(source, tmp_path / "a.plf", CompressionOptions(psnr=20, steps=40, batch=256, size=16_000))
    assert report.quality.psnr >= 20
    with pytest.raises(InvalidInput, match="were not reached"):
        compress(source, tmp_path / "b.plf", CompressionOptions(psnr=150, steps=2, batch=64, size=16_000))


def test_parameters_that_are_not_rounded(tmp_path: Path) -> None:
    """As published: a number of parameters instead of a size."""
    options = CompressionOptions(parameters=4096, is_rounded=False, model="amgsrn", steps=3, batch=64, device="cpu")
    report = compress(write(tmp_path / "a.npy", smooth()), tmp_path / "a.plf", options)
    assert 4096 <= report.parameters < 16_000
    assert report.training.steps == 3


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_constant_volume(value: float, tmp_path: Path) -> None:
    source = write(tmp_path / "a.npy", np.full((6, 7, 8), value, np.float32))
    compress(source, tmp_path / "a.plf", CompressionOptions(size=6000, steps=10, batch=256, max_error=0.5))
    with pl.open(tmp_path / "a.plf") as volume:
        assert np.abs(volume.read() - value).max() <= 0.5


@pytest.mark.parametrize("shape", [(1, 16, 16), (9, 1, 1), (2, 3, 40)])
def test_thin_volumes(shape: tuple[int, int, int], tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 255, shape).astype(np.uint8)
    compress(
        write(tmp_path / "a.npy", array),
        tmp_path / "a.plf",
        CompressionOptions(size=6000, steps=10, batch=256, max_error=3),
    )
    with pl.open(tmp_path / "a.plf") as volume:
        assert np.abs(volume.read().astype(int) - array).max() <= 3


def test_bad_input_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "a.npy", smooth())
    bad = smooth()
    bad[3, 4, 5] = np.nan
    broken = write(tmp_path / "nan.npy", bad)
    (tmp_path / "there.plf").write_bytes(b"x")
    with pytest.raises(OutputExists):
        compress(source, tmp_path / "there.plf")
    with pytest.raises(InvalidInput, match=r"\.plf"):
        compress(source, tmp_path / "a.zarr")
    with pytest.raises(InvalidInput, match="NaN"):
        compress(broken, tmp_path / "b.plf", CompressionOptions(steps=1))
    with pytest.raises(InvalidInput, match="too small"):
        compress(source, tmp_path / "c.plf", CompressionOptions(size=100))
    wrong = (CompressionOptions(psnr=float("nan")), CompressionOptions(max_error=-1.0), CompressionOptions(seconds=0.0))
    for options in wrong:
        with pytest.raises(InvalidInput, match="not positive"):
            compress(source, tmp_path / "c.plf", options)
    with pytest.raises(InvalidInput, match="differ by"):
        compress(source, tmp_path / "c.plf", CompressionOptions(size=6000, steps=1, batch=64, max_error=1e-9))
    assert not (tmp_path / "c.plf").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (CompressionOptions(device="foo"), "Unknown device 'foo'"),
        (CompressionOptions(device="mps"), "Unknown device 'mps'"),
        (CompressionOptions(seed=10**30), "The seed 10+ is out of range"),
        (CompressionOptions(seed=-1), "The seed -1 is out of range"),
        (CompressionOptions(size=10**15), "larger than the volume, which has 52,800"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: CompressionOptions, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        compress(write(tmp_path / "a.npy", smooth()), tmp_path / "a.plf", options)


def test_a_folder_is_refused_before_training(tmp_path: Path) -> None:
    (tmp_path / "a.plf").mkdir()
    with pytest.raises(InvalidInput, match="is a folder"):
        compress(write(tmp_path / "a.npy", smooth()), tmp_path / "a.plf", CompressionOptions(overwrite=True))


def test_a_size_without_end_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compress", "a.npy", "-o", "a.plf", "--size", "9" * 400])
    assert "is not a size" in capsys.readouterr().err


def test_what_a_header_names_is_not_replaced(tmp_path: Path) -> None:
    array = smooth("uint8")
    (tmp_path / "voxels.plf").write_bytes(array.tobytes())
    sizes = " ".join(str(n) for n in array.shape[::-1])
    fields = f"type: uint8\ndimension: 3\nsizes: {sizes}\nencoding: raw\ndata file: voxels.plf\n\n"
    (tmp_path / "a.nhdr").write_text(f"NRRD0004\n{fields}")
    options = CompressionOptions(size=6000, steps=1, batch=64, overwrite=True)
    with pytest.raises(InvalidInput):
        compress(tmp_path / "a.nhdr", tmp_path / "voxels.plf", options)
    assert (tmp_path / "voxels.plf").read_bytes() == array.tobytes()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "a.npy", smooth("uint8"))
    command = ["compress", str(source), "-o", str(tmp_path / "a.plf"), "--size", "6kB", "--steps", "5"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "times smaller" in said
    assert "PSNR" in said
    assert main(command) == 1
    assert "already exists" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--model", "pyramid"]) == 0
    with pytest.raises(SystemExit):
        main(["compress", str(source), "-o", "b.plf", "--size", "many"])
