"""Progress: what is counted, what each reporter shows, and when. The clock is a number that the test sets."""

import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pellucid import progress
from pellucid.progress import Bars, Callbacks, Lines, Silent, Update

MIB = 2**20


class FakeClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def updates() -> Iterator[list[Update]]:
    seen: list[Update] = []
    with progress.use(Callbacks(seen.append, interval_s=0.0)):
        yield seen


def test_rate_and_time_left(clock: FakeClock, updates: list[Update]) -> None:
    with progress.task("Converting", total=100, unit="B", clock=clock) as bar:
        clock.now += 2.0
        bar.advance(20)
    start, middle, end = updates
    assert (start.done, start.rate, start.seconds_left) == (0, None, None)
    assert (middle.done, middle.fraction, middle.rate, middle.seconds_left) == (20, 0.2, 10.0, 8.0)
    assert (end.is_finished, end.is_stopped, end.done, end.seconds, end.seconds_left) == (True, False, 20, 2.0, 0.0)


def test_resumed_work_counts_for_the_fraction_not_the_rate(clock: FakeClock, updates: list[Update]) -> None:
    with progress.task("Converting", total=100, done=50, clock=clock) as bar:
        clock.now += 5.0
        bar.advance(10)
    assert updates[0].fraction == 0.5
    assert (updates[1].done, updates[1].rate, updates[1].seconds_left) == (60, 2.0, 20.0)


def test_rate_forgets_the_distant_past(clock: FakeClock, updates: list[Update]) -> None:
    with progress.task("Reading", total=1000, clock=clock) as bar:
        clock.now += 100.0
        bar.advance(1)
        for _ in range(4):
            clock.now += 10.0
            bar.advance(100)
    assert updates[-2].rate == 10.0
    assert updates[-1].rate == pytest.approx(401 / 140)


def test_advance_reports_no_oftener_than_asked(clock: FakeClock) -> None:
    seen: list[Update] = []
    with progress.use(Callbacks(seen.append, interval_s=1.0)), progress.task("Reading", clock=clock) as bar:
        for _ in range(13):
            clock.now += 0.25
            bar.advance()
    assert [update.done for update in seen] == [0, 4, 8, 12, 13]


def test_threads_lose_nothing() -> None:
    with progress.use(Silent()), progress.task("Reading", total=8000) as bar, ThreadPoolExecutor(8) as pool:
        for _ in pool.map(bar.advance, [1] * 8000):
            pass
        assert bar.done == 8000


def test_tasks_of_one_name_are_told_apart(updates: list[Update]) -> None:
    with progress.task("Reading"), progress.task("Reading"):
        pass
    assert len({update.task for update in updates}) == 2


def test_callback_may_look_at_its_bar() -> None:
    seen: list[int] = []
    bars: list[progress.Bar] = []
    reporter = Callbacks(lambda update: seen.extend(bar.done for bar in bars), interval_s=0.0)
    with progress.use(reporter), progress.task("Reading") as bar:
        bars.append(bar)
        bar.advance(3)
    assert seen == [3, 3]


def test_use_reaches_other_threads() -> None:
    seen: list[progress.Reporter] = []
    with progress.use(Silent()) as silent:
        thread = threading.Thread(target=lambda: seen.append(progress.current()))
        thread.start()
        thread.join()
    assert seen == [silent]


def test_lines(clock: FakeClock) -> None:
    log = io.StringIO()
    with progress.use(Lines(log)), progress.task("Converting", total=100 * MIB, unit="B", clock=clock) as bar:
        for _ in range(100):
            clock.now += 1.0
            bar.advance(MIB)
    lines = log.getvalue().splitlines()
    assert lines[0] == "Converting: 10 %, 10.0 MiB of 100.0 MiB, 1.0 MiB/s, 1 min 30 s left"
    assert lines[-1] == "Converting: 100.0 MiB in 1 min 40 s (1.0 MiB/s)"
    assert len(lines) == 11


def test_quick_work_is_one_line(clock: FakeClock) -> None:
    log = io.StringIO()
    with progress.use(Lines(log)), progress.task("Reading", total=4, unit="blocks", clock=clock) as bar:
        for _ in range(4):
            clock.now += 0.5
            bar.advance()
    assert log.getvalue() == "Reading: 4 blocks in 2.0 s (2 blocks/s)\n"


def test_slow_work_shows_that_it_lives(clock: FakeClock) -> None:
    log = io.StringIO()
    with progress.use(Lines(log)), progress.task("Training", total=10_000, clock=clock) as bar:
        for _ in range(130):
            clock.now += 1.0
            bar.advance()
    assert [line.partition(",")[0] for line in log.getvalue().splitlines()] == [
        "Training: 0 %",
        "Training: 1 %",
        "Training: 130 in 2 min 10 s (1/s)",
    ]


def test_unknown_total(clock: FakeClock) -> None:
    log = io.StringIO()
    with progress.use(Lines(log)), progress.task("Receiving", unit="B", clock=clock) as bar:
        clock.now += 5.0
        bar.advance(10 * MIB)
    assert log.getvalue().splitlines()[0] == "Receiving: 10.0 MiB, 2.0 MiB/s"


@pytest.mark.parametrize("reporter", [Lines, Bars])
def test_an_exception_says_where_it_stopped(reporter: type[Lines] | type[Bars], clock: FakeClock) -> None:
    log = io.StringIO()
    with (
        pytest.raises(KeyError),
        progress.use(reporter(log)),
        progress.task("Converting", 10, "blocks", clock=clock) as bar,
    ):
        clock.now += 3.0
        bar.advance(4)
        raise KeyError
    assert "Converting: stopped at 40 %, 4 blocks of 10 blocks after 3.0 s" in log.getvalue()


def test_bars_nest_and_go(clock: FakeClock) -> None:
    log = io.StringIO()
    with progress.use(Bars(log)):
        with progress.task("Outer", 2, clock=clock) as outer, progress.task("Inner", 3, clock=clock) as inner:
            clock.now += 1.0
            inner.advance(3)
            outer.advance(2)
            progress.note("Half way.")
        progress.note("Done.")
    text = [line.rstrip() for line in log.getvalue().splitlines() if line.rstrip()]
    positions = [
        text.index(line) for line in ("Half way.", "Inner: 3 in 1.0 s (3/s)", "Outer: 2 in 1.0 s (2/s)", "Done.")
    ]
    assert positions == sorted(positions)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(progress.automatic(io.StringIO()), Lines)
    assert isinstance(progress.automatic(Terminal()), Bars)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress.automatic(Terminal()), Lines)


def test_percent_is_not_rounded_up() -> None:
    update = Update(task=1, name="Reading", done=999, total=1000, unit="", seconds=1.0, rate=None, seconds_left=None)
    assert progress.sentence(update) == "Reading: 99 %, 999 of 1,000"
