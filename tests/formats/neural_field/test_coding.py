"""Coded parameters come back, whatever they are, in few bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.formats.neural_field.coding import coded_arrays, decoded_arrays, rounded
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.symbol_coder import MAX_SYMBOL, Symbols

shapes = st.one_of(
    st.tuples(*[st.integers(1, 11)] * 4),
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.tuples(st.integers(1, 1000)),
)


def drawn(random: np.random.Generator, shape: tuple[int, ...], kind: str) -> Floats:
    kinds: dict[str, Callable[[], Any]] = {
        "normal": lambda: random.normal(size=shape),
        "sparse": lambda: random.normal(size=shape) * (random.random(shape) < 0.02),
        "heavy": lambda: random.standard_cauchy(shape),
        "constant": lambda: np.full(shape, random.normal()),
        "smooth": lambda: np.cumsum(random.normal(size=shape), axis=-1),
        "zero": lambda: np.zeros(shape),
    }
    return np.asarray(kinds[kind](), np.float32)


def entropy_bytes(symbols: Symbols) -> float:
    _, counts = np.unique(symbols, return_counts=True)
    return float(-(counts * np.log2(counts / counts.sum())).sum() / 8)


@given(
    st.integers(0, 2**32 - 1),
    shapes,
    st.sampled_from(["normal", "sparse", "heavy", "constant", "smooth", "zero"]),
    st.floats(-6, 2),
)
@settings(max_examples=80, deadline=None)
def test_arrays_come_back_as_whole_steps(seed: int, shape: tuple[int, ...], kind: str, exponent: float) -> None:
    values, step = drawn(np.random.default_rng(seed), shape, kind), float(np.float32(10**exponent))
    expected = (rounded(values, step) * step).astype(np.float32)
    np.testing.assert_array_equal(decoded_arrays(coded_arrays([(values, step)]), [shape])[0], expected)


def test_one_element() -> None:
    for value in (0.0, -7.0, float(MAX_SYMBOL)):
        assert decoded_arrays(coded_arrays([(np.array([value], np.float32), 1.0)]), [(1,)])[0].tolist() == [value]


def test_values_beyond_the_largest_symbol_are_clipped() -> None:
    values = np.array([1e30, -1e30], np.float32)
    assert decoded_arrays(coded_arrays([(values, 1.0)]), [(2,)])[0].tolist() == [MAX_SYMBOL, -MAX_SYMBOL]


def test_several_arrays_with_steps_of_their_own() -> None:
    random = np.random.default_rng(0)
    arrays = [(drawn(random, shape, "normal"), step) for shape, step in (((3, 4), 0.5), ((1, 2, 3, 4), 0.01))]
    first, second = decoded_arrays(coded_arrays(arrays), [(3, 4), (1, 2, 3, 4)])
    np.testing.assert_allclose(first, arrays[0][0], atol=0.2501)
    np.testing.assert_allclose(second, arrays[1][0], atol=0.00501)


def test_sizes_are_near_the_entropy_and_below_it_where_neighbours_are_alike() -> None:
    random = np.random.default_rng(0)
    noise = random.laplace(size=(2, 16, 16, 16)).astype(np.float32)
    smooth = np.cumsum(np.cumsum(noise, axis=3), axis=2) * np.float32(0.1)
    for step in (0.2, 1.0):
        assert len(coded_arrays([(noise, step)])) < 1.1 * entropy_bytes(rounded(noise, step)) + 60
    assert len(coded_arrays([(smooth, 0.5)])) < 0.75 * entropy_bytes(rounded(smooth, 0.5))
    assert len(coded_arrays([(np.zeros((2, 32, 32, 32), np.float32), 1.0)])) < 300


@pytest.mark.parametrize("shape", [(1 << 40,), (1 << 20, 1 << 20), (4, 1 << 14, 1 << 14, 1 << 14)])
def test_more_symbols_than_bytes_can_hold_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="more parameters than its bytes can hold"):
        decoded_arrays(coded_arrays([(np.zeros(9, np.float32), 1.0)]), [shape])


@given(st.binary(max_size=120), st.integers(1, 400))
@settings(max_examples=150, deadline=None)
def test_any_bytes_decode_to_an_array_or_to_an_error(data: bytes, count: int) -> None:
    try:
        (values,) = decoded_arrays(data, [(count,)])
    except (ValueError, AssertionError):
        return
    assert values.shape == (count,)
