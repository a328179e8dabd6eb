"""HiPic scans are read by their log: in the order of the frames' numbers, whatever the order of its lines."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.errors import InvalidInput
from pellucid.tomo.scan_files.hipic import read_log
from pellucid.tomo.scan_files.registry import open_scan
from tests.hipic_files import write_his, write_img

RANDOM = np.random.default_rng(0)
FRAMES = RANDOM.integers(100, 4000, (8, 3, 4)).astype(np.uint16)
FLATS, DARKS = FRAMES[:2] + 5, FRAMES[:3] // 50
DEGREES = np.arange(8) * 22.5


@pytest.mark.parametrize("is_numbered", [False, True])
@pytest.mark.parametrize("is_folder", [False, True])
def test_hipic_with_its_log(is_folder: bool, is_numbered: bool, tmp_path: Path) -> None:
    frames = np.concatenate([FLATS[:1], FRAMES[:4], FLATS[1:], FRAMES[4:]])
    source = tmp_path if is_folder else tmp_path / "a.his"
    if is_folder:
        for index, frame in enumerate(frames):
            write_img(tmp_path / f"d{index + 1}.img", frame)
    else:
        write_his(source, frames)
    write_img(tmp_path / "dark.img", DARKS[0])
    kinds = [0, 1, 1, 1, 1, 0, 1, 1, 1, 1]
    angles = iter(DEGREES)
    lines = [f"{10 * i} {next(angles) if kind else 0} {kind}" for i, kind in enumerate(kinds)]
    if is_numbered:
        lines = [f"{i + 7} {line} shutter open, 25 C" for i, line in enumerate(lines)]
        RANDOM.shuffle(lines)
    with pytest.raises(InvalidInput, match="does not state the angles"):
        open_scan(source)
    (tmp_path / "output.log").write_text("time angle kind\n" + "\n".join(lines))
    scan = open_scan(source)
    assert scan.flats is not None and scan.darks is not None
    np.testing.assert_array_equal(scan.projections.read(), FRAMES)
    np.testing.assert_array_equal(scan.flats.read(), FLATS)
    np.testing.assert_array_equal(scan.darks.read()[0], DARKS[0])
    assert scan.flats.times.tolist() == [0, 50] and scan.projections.times.tolist()[3:5] == [40, 60]
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
    assert "output.log is read as" in scan.assumptions[0]
    (tmp_path / "output.log").write_text("\n".join(lines[1:]))
    with pytest.raises(InvalidInput, match=r"lists 9 frames, but .* has 10"):
        open_scan(source)
    (tmp_path / "output.log").write_text("1 2 7\n")
    with pytest.raises(InvalidInput, match="is not a frame log"):
        open_scan(source)


@settings(max_examples=40)
@given(
    st.permutations(range(12)),
    st.sampled_from(["", " ", ",", " I0", " 3 2024/11/02 first", ", dark 4"]),
    st.sampled_from([" ", "\t", ", "]),
    st.integers(0, 100),
)
def test_the_number_of_a_frame_orders_the_log(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], ending: str, separator: str, first: int
) -> None:
    """Lines in any order, with anything behind the four columns, give the log of the lines in order."""
    kinds = np.arange(12) % 5 != 0
    lines = [separator.join(map(str, (first + n, 1000 + 7 * n, 15.5 * n, int(kinds[n])))) + ending for n in range(12)]
    path = tmp_path_factory.mktemp("log") / "output.log"
    path.write_text("number time angle type\n" + "\n".join(lines[n] for n in order) + "\nend of scan\n")
    log = read_log(path)
    np.testing.assert_array_equal(log.times, 1000 + 7 * np.arange(12))
    np.testing.assert_array_equal(log.angles_deg, 15.5 * np.arange(12))
    np.testing.assert_array_equal(log.kinds, kinds)


def test_two_lines_for_a_frame_are_refused(tmp_path: Path) -> None:
    (tmp_path / "output.log").write_text("1 0 0 1\n2 1 5 1\n1 2 10 1\n")
    with pytest.raises(InvalidInput, match="several lines for the frames 1"):
        read_log(tmp_path / "output.log")
