"""Files that several readers share: each is opened once, and closed with the last of them."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import InvalidInput, SelectionNeeded
from pellucid.formats import registry
from pellucid.formats.location import Location
from pellucid.formats.protocol import Reader
from pellucid.volume import open_files
from pellucid.volume.open_files import OpenFiles

STEPS = np.arange(3 * 4 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4, 4)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were opened, and "closed" where one was closed."""
    events: list[str] = []

    def open_reader(location: Location) -> Reader:
        reader = registry.open_reader(location)
        events.append(str(location))
        close = reader.close

        def close_and_note() -> None:
            events.append("closed")
            close()

        monkeypatch.setattr(reader, "close", close_and_note)
        return reader

    monkeypatch.setattr(open_files, "open_reader", open_reader)
    return events


@pytest.fixture
def series(tmp_path: Path) -> str:
    np.save(tmp_path / "steps.npy", STEPS)
    return str(tmp_path / "steps.npy")


def test_steps_of_a_file_share_its_reader(series: str, opened: list[str]) -> None:
    files = OpenFiles()
    first, last = files.open_volume(f"{series}:t=0"), files.open_volume(f"{series}:t=2")
    with files.open_series(series) as steps:
        assert steps.times == 3
    np.testing.assert_array_equal(first.read(), STEPS[0])
    np.testing.assert_array_equal(last.read(), STEPS[2])
    assert str(last.location) == f"{series}:t=2"
    assert opened == [series]


def test_a_file_is_closed_with_the_last_who_reads_it(series: str, opened: list[str]) -> None:
    files = OpenFiles()
    first, last = files.open_volume(f"{series}:t=0"), files.open_volume(f"{series}:t=2")
    first.close()
    first.close()
    assert opened == [series]
    np.testing.assert_array_equal(last.read(), STEPS[2])
    with pytest.raises(InvalidInput, match="The volume is closed"):
        first.read()
    last.close()
    assert opened == [series, "closed"]
    with files.open_volume(f"{series}:t=1") as again:
        np.testing.assert_array_equal(again.read(), STEPS[1])
    assert opened == [series, "closed"] * 2


def test_a_forgotten_file_is_opened_as_it_is_then(series: str) -> None:
    files = OpenFiles()
    before = files.open_volume(f"{series}:t=0")
    Path(series).unlink()
    np.save(series, STEPS + 1)
    assert files.open_volume(f"{series}:t=0").read()[0, 0, 0] == STEPS[0, 0, 0, 0]
    files.forget(series)
    assert files.open_volume(f"{series}:t=0").read()[0, 0, 0] == STEPS[0, 0, 0, 0] + 1
    assert before.read()[0, 0, 0] == STEPS[0, 0, 0, 0]


def test_a_file_that_is_refused_is_not_kept_open(series: str, opened: list[str]) -> None:
    with pytest.raises(SelectionNeeded):
        OpenFiles().open_volume(series)
    assert opened == [series, "closed"]
