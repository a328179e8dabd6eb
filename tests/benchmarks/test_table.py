"""The table that every benchmark prints."""

import json
from pathlib import Path

import pytest

from benchmarks import table
from benchmarks.table import Options, Row
from pellucid.device import devices

ROWS = [
    table.shorter("read gzip", "s", 2.0, "h5py", 5.0),
    table.faster("copy", "MB/s", 300.0, "target", 200.0),
    table.unavailable("read gzip", "z5py", "no wheel"),
]


def test_a_ratio_above_one_means_better() -> None:
    assert ROWS[0] == Row("read gzip", "time", "s", 2.0, "h5py", 5.0, 2.5)
    assert ROWS[1] == Row("copy", "speed", "MB/s", 300.0, "target", 200.0, 1.5)
    assert ROWS[2] == Row("read gzip", "not measured: no wheel", "", None, "z5py", None, None)


def test_functions_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    durations = {"a": iter([0.5, 0.125, 0.75, 0.25]), "b": iter([0.5, 1.0, 1.0, 2.0])}
    now = [0.0]

    def step(name: str) -> None:
        order.append(name)
        now[0] += next(durations[name])

    monkeypatch.setattr("benchmarks.table.time.perf_counter", lambda: now[0])
    medians = table.interleave({"a": lambda: step("a"), "b": lambda: step("b")}, repeats=3)
    assert order == ["a", "b"] * 4
    assert medians == {"a": 0.25, "b": 1.0}


@pytest.mark.parametrize(("seconds", "rounds"), [(0.5, 9), (1.0, 5), (2.0, 3), (15.0, 1)])
def test_what_takes_long_is_repeated_less(seconds: float, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now, counts = [0.0], {"slow": 0, "fast": 0}

    def work(name: str, takes: float) -> float:
        now[0] += takes
        counts[name] += 1
        return takes

    monkeypatch.setattr("benchmarks.table.time.perf_counter", lambda: now[0])
    measures = {"slow": lambda: work("slow", seconds), "fast": lambda: work("fast", 0.1)}
    assert table.in_turn(measures, repeats=9) == {"slow": seconds, "fast": 0.1}
    assert counts == {"slow": 1 + rounds, "fast": 10}


def test_what_fails_loses_no_other_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise RuntimeError("no licence")

    seconds = table.interleave({"ours": lambda: None, "good": lambda: None, "bad": fail}, repeats=1)
    rows = [table.shorter("copy", "s", seconds["ours"], peer, seconds[peer]) for peer in ("good", "bad")]
    with pytest.raises(SystemExit, match=r"formats: copy \(bad\) failed"):
        table.report("formats", rows, "2 GiB", Options(False, None), tmp_path)
    printed = capsys.readouterr()
    assert "no licence" in printed.err
    assert table.markdown([rows[0], table.unavailable("copy", "bad", "it failed")]) in printed.out


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cpu_only = devices()[:1]
    monkeypatch.setattr(table, "devices", lambda: cpu_only)
    given = table.options("", ["--quick", "--json", str(tmp_path / "rows.json")])
    assert given == Options(True, tmp_path / "rows.json")
    table.report("formats", ROWS, "2 GiB", given, tmp_path)
    printed = capsys.readouterr().out
    assert (tmp_path / "formats-quick.md").read_text() in printed
    assert "Size: 2 GiB. Commit: " in printed
    assert "| read gzip | time                   | s    | 2    | h5py   | 5         | 2.5   |" in printed
    assert "| read gzip | not measured: no wheel |      | -    | z5py   | -         | -     |" in printed
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [list(row) for row in rows] == [["case", "metric", "unit", "ours", "peer", "peer_value", "ratio"]] * 3
    assert rows[0]["ratio"] == 2.5
