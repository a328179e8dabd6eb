"""The progress of work, its rate and the remaining time.

Here: task(), which counts; the reporters that show it: bars in a terminal, lines in a log, callbacks, silence.
Not here: what the work is; log messages (Python's logging).

    with progress.task("Converting", total=nbytes, unit="B") as bar:
        bar.advance(n)
"""

import itertools
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

WINDOW_S = 30.0
"""The rate is that of the last so many seconds: older speed says little about the time left."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Update:
    """The state of one task.

    task: a number that distinguishes tasks of one name. total: None if unknown. unit: "B" for bytes, else a noun
    in the plural. rate: units per second of the work done in this run. seconds_left: None where it cannot be said.
    is_stopped: ended by an exception, at ``done``.
    """

    task: int
    name: str
    done: int
    total: int | None
    unit: str
    seconds: float
    rate: float | None
    seconds_left: float | None
    is_finished: bool = False
    is_stopped: bool = False

    @property
    def fraction(self) -> float | None:
        if self.total is None:
            return None
        return 1.0 if self.total == 0 else min(1.0, self.done / self.total)


class Reporter(Protocol):
    """Shows updates. Called from any thread, at most every ``interval_s`` per task, and at its start and end."""

    interval_s: float

    def report(self, update: Update) -> None: ...

    def note(self, text: str) -> None:
        """Print one sentence that belongs to no bar."""


class Bar:
    """The counter of one task. Made by task()."""

    def __init__(self, first: Update, reporter: Reporter, clock: Clock) -> None:
        self._first = first
        self._done = first.done
        self._reporter = reporter
        self._clock = clock
        self._start = clock()
        self._next = self._start + reporter.interval_s
        self._samples: deque[tuple[float, int]] = deque([(self._start, first.done)])
        self._lock = threading.RLock()  # re-entrant: a callback may read the bar that it is called for

    @property
    def done(self) -> int:
        return self._done

    def advance(self, amount: int = 1) -> None:
        """Count work that is done. Cheap, and safe from any thread."""
        with self._lock:
            self._done += amount
            now = self._clock()
            if now >= self._next:
                self._next = now + self._reporter.interval_s
                self._reporter.report(self._update(now))

    def end(self, *, is_stopped: bool) -> None:
        with self._lock:
            now = self._clock()
            self._samples = deque([(self._start, self._first.done)])  # the last word is about the whole run
            self._reporter.report(self._update(now, is_finished=not is_stopped, is_stopped=is_stopped))

    def _update(self, now: float, *, is_finished: bool = False, is_stopped: bool = False) -> Update:
        self._samples.append((now, self._done))
        while len(self._samples) > 2 and self._samples[1][0] < now - WINDOW_S:
            self._samples.popleft()
        first = self._first
        rate = _rate(self._samples)
        left = None if first.total is None or not rate else max(0, first.total - self._done) / rate
        return Update(
            task=first.task,
            name=first.name,
            done=self._done,
            total=first.total,
            unit=first.unit,
            seconds=now - self._start,
            rate=rate,
            seconds_left=0.0 if is_finished else left,
            is_finished=is_finished,
            is_stopped=is_stopped,
        )


def _rate(samples: deque[tuple[float, int]]) -> float | None:
    (start, before), (now, done) = samples[0], samples[-1]
    return (done - before) / (now - start) if now > start else None


_numbers = itertools.count(1)


@contextmanager
def task(
    name: str, total: int | None = None, unit: str = "", done: int = 0, clock: Clock = time.monotonic
) -> Iterator[Bar]:
    """Count and show one piece of work. Tasks may be nested, and run side by side in threads.

    done: work an earlier run has done already; it counts toward the fraction but not toward the rate.
    """
    reporter = current()
    first = Update(next(_numbers), name, done, total, unit, seconds=0.0, rate=None, seconds_left=None)
    bar = Bar(first, reporter, clock)
    reporter.report(first)
    try:
        yield bar
    except BaseException:
        bar.end(is_stopped=True)
        raise
    bar.end(is_stopped=False)


def note(text: str) -> None:
    """Print one sentence between the bars, which stay whole."""
    current().note(text)


# Choosing a reporter


class _State:
    """The reporter of this process. Module state, not a context variable: worker threads must see it too."""

    lock = threading.Lock()
    reporter: Reporter | None = None


def current() -> Reporter:
    with _State.lock:
        if _State.reporter is None:
            _State.reporter = automatic()
        return _State.reporter


@contextmanager
def use(reporter: Reporter) -> Iterator[Reporter]:
    """Report to this one, in every thread, until the block ends."""
    with _State.lock:
        before, _State.reporter = _State.reporter, reporter
    try:
        yield reporter
    finally:
        with _State.lock:
            _State.reporter = before


def automatic(stream: TextIO | None = None) -> Reporter:
    """Bars if the stream (by default standard error) is a terminal, otherwise lines."""
    stream = stream or sys.stderr
    if stream is None:  # Started with standard error closed.
        return Silent()
    is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    return Bars(stream) if is_terminal else Lines(stream)


# Reporters


class Silent:
    """Shows nothing."""

    interval_s = float("inf")

    def report(self, update: Update) -> None:
        pass

    def note(self, text: str) -> None:
        pass


class Callbacks:
    """Hands every update to a function, for the web and for programs. It is called in the thread that works."""

    def __init__(
        self,
        on_update: Callable[[Update], None],
        on_note: Callable[[str], None] | None = None,
        interval_s: float = 0.2,
    ) -> None:
        self.interval_s = interval_s
        self._on_update = on_update
        self._on_note = on_note

    def report(self, update: Update) -> None:
        self._on_update(update)

    def note(self, text: str) -> None:
        if self._on_note is not None:
            self._on_note(text)


class Lines:
    """Plain lines for a log: one at the end; before that, one once 5 s and the next 10 % are over, or 60 s.

    Work that is done at once prints nothing.
    """

    quick_s = 2.0
    interval_s = 5.0
    steps = 10
    heartbeat_s = 60.0

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._text: dict[int, Update] = {}

    def report(self, update: Update) -> None:
        with self._lock:
            before = self._text.setdefault(update.task, update)
            if update.is_finished or update.is_stopped:
                del self._text[update.task]
                if update.is_finished and update.seconds < self.quick_s:
                    return
            elif not self._is_due(before, update):
                return
            else:
                self._text[update.task] = update
            self._write(sentence(update))

    def note(self, text: str) -> None:
        with self._lock:
            self._write(text)

    def _is_due(self, before: Update, update: Update) -> bool:
        if update.seconds - before.seconds >= self.heartbeat_s:
            return True
        if update.fraction is None or before.fraction is None:
            return update.seconds - before.seconds >= self.interval_s
        return int(update.fraction * self.steps) > int(before.fraction * self.steps)

    def _write(self, line: str) -> None:
        # Looked up late: tests and notebooks replace sys.stderr.
        print(line, file=self._stream or sys.stderr, flush=True)


class Bars:
    """Rich progress bars, all of them in one live display that is there as long as a task is."""

    interval_s = 0.1

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._display: Any = None
        self._rows: dict[int, Any] = {}

    def report(self, update: Update) -> None:
        with self._lock:
            self._ensure_display()
            if update.task not in self._rows:
                self._rows[update.task] = self._display.add_task(update.name, total=update.total, text="")
            row = self._rows[update.task]
            self._display.update(row, completed=update.done, text=amounts(update))
            if update.is_finished or update.is_stopped:
                self._end(update, row)

    def note(self, text: str) -> None:
        with self._lock:
            if self._display is None:
                print(text, file=self._stream or sys.stderr, flush=True)
            else:
                self._display.console.print(text, markup=False, highlight=False)

    def _end(self, update: Update, row: Any) -> None:
        self._display.remove_task(row)
        self._display.console.print(sentence(update), markup=False, highlight=False)
        del self._rows[update.task]
        if not self._rows:
            self._display.stop()
            self._display = None

    def _ensure_display(self) -> None:
        if self._display is not None:
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
        )
        console = Console(file=self._stream or sys.stderr)
        self._display = Progress(*columns, console=console, transient=True)
        self._display.start()


# Words for numbers


def sentence(update: Update) -> str:
    """One line for a log."""
    if update.is_finished:
        rate = f" ({amount(update.rate, update.unit)}/s)" if update.rate else ""
        return f"{update.name}: {amount(update.done, update.unit)} in {duration(update.seconds)}{rate}"
    if update.is_stopped:
        return f"{update.name}: stopped at {_position(update)} after {duration(update.seconds)}"
    return (
        f"{update.name}: {amounts(update)}"
        if update.fraction is None
        else f"{update.name}: {_percent(update)}{amounts(update)}"
    )


def amounts(update: Update) -> str:
    """Done, total, rate and time left, as far as they are known."""
    total = "" if update.total is None else f" of {amount(update.total, update.unit)}"
    rate = f", {amount(update.rate, update.unit)}/s" if update.rate else ""
    left = f", {duration(update.seconds_left)} left" if update.seconds_left is not None else ""
    return f"{amount(update.done, update.unit)}{total}{rate}{left}"


def _position(update: Update) -> str:
    total = "" if update.total is None else f" of {amount(update.total, update.unit)}"
    return f"{_percent(update)}{amount(update.done, update.unit)}{total}"


def _percent(update: Update) -> str:
    # Rounded down: 100 % is said only when it is true.
    return "" if update.fraction is None else f"{int(update.fraction * 100)} %, "


def amount(number: float, unit: str) -> str:
    """A number with its unit.

    >>> amount(3 * 2**29, "B"), amount(12345, "blocks"), amount(2.5, "")
    ('1.5 GiB', '12,345 blocks', '2.5')
    """
    if unit != "B":
        digits = f"{number:,.0f}" if number >= 100 or float(number).is_integer() else f"{number:.1f}"
        return f"{digits} {unit}".rstrip()
    for prefix in ("", "Ki", "Mi", "Gi", "Ti"):
        if number < 1024:
            return f"{number:.1f} {prefix}B" if prefix else f"{number:.0f} B"
        number /= 1024
    return f"{number:,.1f} PiB"


def duration(seconds: float) -> str:
    """Seconds in the two largest units that say something.

    >>> duration(3.21), duration(80), duration(7500)
    ('3.2 s', '1 min 20 s', '2 h 5 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
