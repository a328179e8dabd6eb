"""Voxel types: what becomes of values."""

from typing import Any

import numpy as np
import pytest

from pellucid.conversion.options import ConversionOptions
from pellucid.conversion.values import ValueMap, plan_values
from pellucid.errors import InvalidInput


def test_a_range_is_spread_over_all_of_an_integer_type() -> None:
    voxels = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan], np.float32)
    assert ValueMap("uint8", (0.0, 1.0)).apply(voxels).tolist() == [0, 0, 128, 255, 255, 0]
    assert ValueMap("int16", (0.0, 1.0)).apply(voxels)[[0, 3]].tolist() == [-32768, 32767]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32"])
def test_both_ends_are_reached_exactly(dtype: str) -> None:
    limits = np.iinfo(dtype)
    ends = ValueMap(dtype, (-7.5, 12.25)).apply(np.array([-7.5, 12.25]))
    assert ends.tolist() == [limits.min, limits.max]


def test_without_a_range_values_stay() -> None:
    voxels = np.arange(5, dtype=np.uint8)
    assert ValueMap("float32").apply(voxels).tolist() == [0, 1, 2, 3, 4]
    assert ValueMap("uint8").apply(voxels) is voxels


def test_integers_to_integers_with_a_range() -> None:
    assert ValueMap("uint8", (1000, 3000)).apply(np.array([0, 1000, 2000, 3000, 65535], np.uint16)).tolist() == [
        0, 0, 128, 255, 255,
    ]  # fmt: skip


def test_a_float_target_with_a_range_is_zero_to_one() -> None:
    assert ValueMap("float32", (10, 20)).apply(np.array([5, 10, 15, 25], np.uint8)).tolist() == [0.0, 0.0, 0.5, 1.0]


def test_losing_values_needs_a_range() -> None:
    with pytest.raises(InvalidInput, match=r"float32 does not fit into uint8 without a range.*--range auto"):
        plan_values(np.dtype("float32"), "uint8", None)
    assert plan_values(np.dtype("uint8"), "uint16", None) == ValueMap("uint16")
    assert plan_values(np.dtype("float64"), "float32", None) == ValueMap("float32")
    assert plan_values(np.dtype("int16"), None, None) == ValueMap("int16")


@pytest.mark.parametrize(("dtype", "sign"), [("int64", 1), ("int64", -1), ("uint64", 1)])
def test_digits_of_64_bit_integers_are_not_lost(dtype: str, sign: int) -> None:
    exact = sign * np.array([5, 2**53, 2**53 + 2, 2**60 + 2**9, 2**63 - 1024], dtype)
    assert ValueMap("float64").apply(exact).tolist() == exact.tolist()
    for value in (2**53 + 1, 2**60 + 2**7, 2**63 - 1025):
        with pytest.raises(InvalidInput, match="too large for float64"):
            ValueMap("float64").apply(sign * np.array([5, value], dtype))


def test_infinities_become_the_ends_and_nan_the_low_end() -> None:
    voxels = np.array([-np.inf, np.inf, np.nan, 5.0], np.float32)
    assert ValueMap("uint8", (0.0, 10.0)).apply(voxels).tolist() == [0, 255, 0, 128]


def test_the_largest_64_bit_integers_do_not_wrap_round() -> None:
    top = np.array([2**64 - 1, 0], np.uint64)
    assert ValueMap("uint64", (0, 2**64 - 1)).apply(top).tolist() == [2**64 - 1, 0]
    assert ValueMap("int64", (0, 1)).apply(np.array([0.0, 1.0])).tolist() == [-(2**63), 2**63 - 1]


def test_casts_that_would_round_or_overflow_are_refused() -> None:
    with pytest.raises(InvalidInput, match="uint16 does not fit into float16"):
        plan_values(np.dtype("uint16"), "float16", None)
    with pytest.raises(InvalidInput, match="uint32 does not fit into float32"):
        plan_values(np.dtype("uint32"), "float32", None)
    with pytest.raises(InvalidInput, match=r"too large for float32.*wider type"):
        ValueMap("float32").apply(np.array([1e300]))


def test_wishes_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InvalidInput, match="uint8, int8, uint16"):
        plan_values(np.dtype("uint8"), "rgb", None)
    for nothing in ((3.0, 3.0), (0.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(InvalidInput, match="LOW below HIGH"):
            plan_values(np.dtype("uint8"), "uint8", nothing)


@pytest.mark.parametrize(
    ("given", "name"), [("u1", "uint8"), ("B", "uint8"), ("single", "float32"), (">f8", "float64"), (np.int16, "int16")]
)
def test_every_name_of_a_type_is_taken(given: Any, name: str) -> None:
    assert ConversionOptions(dtype=given).dtype == name


@pytest.mark.parametrize("given", ["uint9", "complex64", "str", "", "O"])
def test_other_types_are_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="Unknown voxel type"):
        ConversionOptions(dtype=given)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint32", "int64"])
@pytest.mark.parametrize("target", ["uint8", "uint16", "int16", "float16"])
def test_a_narrow_range_far_from_zero_keeps_its_steps(dtype: str, target: str) -> None:
    low, high = (1000.3, 1001.7) if dtype == "float32" else (1e9 + 3, 1e9 + 700)
    voxels = np.linspace(low, high, 999).astype(dtype)
    exact = ((voxels.astype(np.float64) - low) / (high - low)).clip(0, 1)
    found = ValueMap(target, (low, high)).apply(voxels)
    if target == "float16":
        assert np.abs(found - exact).max() < 2**-11
    else:
        ends = np.iinfo(target)
        assert np.abs(found - (exact * (ends.max - ends.min) + ends.min)).max() < 0.5 + 1 / 32
