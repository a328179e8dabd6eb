"""The idle timeout, with a clock that is told the time."""

from pathlib import Path

import pytest

from pellucid.instance.lifecycle.idle import IdleTimer
from pellucid.instance.server import Instance
from pellucid.instance.session import SessionOptions
from tests.clock import Clock
from tests.instance.loopback import open_page, served


def test_it_warns_once_and_then_is_over() -> None:
    clock = Clock()
    idleness = IdleTimer(3600, 300, clock)
    assert idleness.pending_warning() is None
    clock.now += 3301
    warning = idleness.pending_warning()
    assert warning is not None and warning.seconds_left == 299 and warning.idle_timeout_s == 3600
    assert idleness.pending_warning() is None and not idleness.is_expired
    clock.now += 299
    assert idleness.is_expired


def test_use_starts_it_anew() -> None:
    clock = Clock()
    idleness = IdleTimer(3600, 300, clock)
    clock.now += 3400
    idleness.pending_warning()
    assert idleness.touch() is True
    assert idleness.seconds_left == 3600 and idleness.touch() is False


def test_work_holds_it_off() -> None:
    clock = Clock()
    idleness = IdleTimer(3600, 300, clock)
    with idleness.held_off():
        clock.now += 9999
        assert not idleness.is_expired
    clock.now += 100
    assert idleness.seconds_left == 3500


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_instance_warns_is_prolonged_and_ends_itself(source: str, folder: Path, clock: Clock) -> None:
    instance = Instance(source, SessionOptions("cpu", (folder,), clock=clock))
    with served(instance):
        with open_page(instance) as page:
            page.exact()
            clock.now += 3400
            assert page.hear_text("idle")["is_warning"]
            page.say("probe", x=0.5, y=0.5)  # A pointer that lies on the picture is nobody.
            page.hear_text("probe_result")
            page.say("keep_alive")
            prolonged = page.hear_text("idle")
            assert not prolonged["is_warning"] and prolonged["seconds_left"] == 3600
            clock.now += 3601
            ended = page.hear_text("shutting_down")
            assert "it was idle" in ended["what"] and ended["remedy"]
        instance_thread_ends = instance.session.on_end
    assert instance_thread_ends == instance.stop
