"""Numbers on the command line: finite ones only, and negative ones as people write them."""

from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.cli.main import main


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.linspace(-1, 1, 4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6))
    return tmp_path / "a.npy"


@pytest.mark.parametrize(
    "words",
    [
        "convert {0} {1} --dtype uint8 --range nan,1",
        "convert {0} {1} --dtype uint8 --range -inf,1",
        "mesh {0} -o {1} --isovalue nan",
        "render {0} -o {1} --range 0,inf",
        "render {0} -o {1} --isovalue inf",
        "render {0} -o {1} --azimuth nan",
        "render {0} -o {1} --elevation -inf",
        "render {0} -o {1} --time nan",
        "render {0} -o {1} --zoom nan",
        "render {0} -o {1} --gamma inf",
        "render {0} -o {1} --parameter depth=nan",
        "render {0} -o {1} --edges nan,1",
        "view {0} --idle-timeout nan",
    ],
)
def test_what_is_not_finite_is_refused(words: str, scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.format(scan, scan.with_name("b.png")).split())
    assert ended.value.code == 2
    text = capsys.readouterr().err
    assert "finite" in text or "a number above 0" in text
    assert not scan.with_name("b.png").exists()


@pytest.mark.parametrize("spacing", ["nan", "inf", "0", "-1", "1,nan,1"])
def test_spacing_of_a_headerless_file(spacing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.raw").write_bytes(bytes(24))
    assert main(["info", f"{tmp_path}/a.raw:shape=2,3,4,dtype=uint8,spacing={spacing}"]) == 1
    assert f"Invalid spacing {spacing!r}." in capsys.readouterr().err


def test_a_range_may_begin_with_a_minus(scan: Path) -> None:
    out = scan.with_name("b.npy")
    assert main(["--quiet", "convert", str(scan), str(out), "--dtype", "uint8", "--range", "-0.5,.5"]) == 0
    with pellucid.open(scan) as volume, pellucid.open(out) as written:
        expected = np.clip(np.rint((volume.read() + 0.5) * 255), 0, 255)
        np.testing.assert_allclose(written.read(), expected, atol=1)
