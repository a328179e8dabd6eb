"""What the wire takes decides how good moving pictures are."""

from pellucid.instance.frames.quality import LEVELS, AdaptiveQuality
from pellucid.instance.frames.timing import FrameTiming


def test_quality_falls_with_a_slow_wire_and_rises_with_a_fast_one() -> None:
    quality = AdaptiveQuality()
    for _ in range(20):
        quality.add_sample(500.0)
    assert quality.level == LEVELS[-1]
    for _ in range(20):
        quality.add_sample(5.0)
    assert quality.level == LEVELS[0]


def test_between_the_two_it_stays() -> None:
    quality = AdaptiveQuality()
    quality.add_sample(500.0)
    before = quality.level
    for _ in range(20):
        quality.add_sample(80.0)
    assert quality.level == before != LEVELS[0]


def test_times_are_summed_up_by_stage() -> None:
    now = [10.0]
    timing = FrameTiming(lambda: now[0])
    for milliseconds in range(1, 101):
        timing.add("render", milliseconds)
        timing.frame()
    assert timing.summary()["render"].median == 50.5
    assert 95 < timing.summary()["render"].p95 < 97
    assert (timing.frames, timing.frames_per_second) == (100, 50.0)
