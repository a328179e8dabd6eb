"""Ring removal in kernels. Sinograms are turned (slice, column, view), so that a column is one run of memory.

Here: turning, restlessness and interpolation of columns, sorting on CUDA, running medians, putting back in order.
Not here: which columns are bad (rings), sorting on the CPU (NumPy's is vectorised).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from functools import cache
from pathlib import Path

import warp as wp

from pellucid.tomo.kernels.borders import mirrored

LANES = 16
SMOOTHING = wp.constant(10)
HALF = wp.constant(5)
CHUNK = wp.constant(32)
SPAN = 64
"""Columns that one thread walks on CUDA: the first window of each walk is extra work."""

SORT_THREADS = 256
SUM_THREADS = 128


@wp.kernel(enable_backward=False)
def turn(first: wp.int32, sinograms: wp.array3d(dtype=wp.float32), turned: wp.array3d(dtype=wp.float32)):
    """(slice, a, b) to (slice, b, a)."""
    down, place, across = wp.tid()
    down += first
    turned[place, across, down] = sinograms[place, down, across]


@wp.func
def value_at(
    stack: wp.array3d(dtype=wp.float32), is_turned: wp.bool, place: wp.int32, column: wp.int32, view: wp.int32
):
    if is_turned:
        return stack[place, column, view]
    return stack[place, view, column]


@wp.kernel(enable_backward=False)
def measure_restlessness(
    first: wp.int32, stack: wp.array3d(dtype=wp.float32), is_turned: wp.bool, found: wp.array2d(dtype=wp.float64)
):
    """Per (slice, column): the distance of a column from its running mean, summed over the views.

    is_turned: whether the views of a column lie side by side, which a CPU wants, or its neighbours, which CUDA wants.
    """
    chunk, place, lane = wp.tid()
    column = (chunk + first) * CHUNK + lane
    if column >= found.shape[1]:
        return
    views = stack.shape[1]
    if is_turned:
        views = stack.shape[2]
    total = wp.float64(0.0)
    window = wp.float64(0.0)
    for i in range(SMOOTHING):
        window += wp.float64(value_at(stack, is_turned, place, column, mirrored(i - HALF, views)))
    for view in range(views):
        own = wp.float64(value_at(stack, is_turned, place, column, view))
        total += wp.abs(own - window / wp.float64(SMOOTHING))
        window += wp.float64(value_at(stack, is_turned, place, column, mirrored(view + HALF, views)))
        window -= wp.float64(value_at(stack, is_turned, place, column, mirrored(view - HALF, views)))
    found[place, column] = total


@wp.kernel(enable_backward=False)
def fill_columns(
    first: wp.int32,
    places: wp.array(dtype=wp.int32),
    columns: wp.array(dtype=wp.int32),
    before: wp.array(dtype=wp.int32),
    after: wp.array(dtype=wp.int32),
    turned: wp.array3d(dtype=wp.float32),
):
    """Bad columns become a straight line between the good ones before and after them."""
    view, index = wp.tid()
    view += first
    left = before[index]
    share = wp.float32(columns[index] - left) / wp.float32(after[index] - left)
    low = turned[places[index], left, view]
    high = turned[places[index], after[index], view]
    turned[places[index], columns[index], view] = low + share * (high - low)


@wp.kernel(enable_backward=False)
def sum_columns(
    first: wp.int32, left_out: wp.int32, ranked: wp.array3d(dtype=wp.float32), sums: wp.array2d(dtype=wp.float64)
):
    """Per (slice, column): the sum over its ranks, without so many at either end."""
    column, place = wp.tid()
    column += first
    total = wp.float64(0.0)
    for rank in range(left_out, ranked.shape[2] - left_out):
        total += wp.float64(ranked[place, column, rank])
    sums[place, column] = total


@wp.func
def turned(rank: wp.int32, divisor: wp.float32, ranks: wp.int32):
    """Where a rank was before its column was divided: a negative divisor turns the order around."""
    return wp.where(divisor < 0.0, ranks - 1 - rank, rank)


@wp.kernel(enable_backward=False)
def level_columns(
    first: wp.int32,
    divisors: wp.array2d(dtype=wp.float32),
    mask: wp.array2d(dtype=wp.uint8),
    smooth: wp.array3d(dtype=wp.float32),
    ranked: wp.array3d(dtype=wp.float32),
    leveled: wp.array3d(dtype=wp.float32),
):
    """Ranked columns divided by their divisor; bad ones become smooth. A negative factor turns the order around."""
    column, place, rank = wp.tid()
    column += first
    source = turned(rank, divisors[place, column], ranked.shape[2])
    value = ranked[place, column, source] / divisors[place, column]
    if mask[place, column] != wp.uint8(0):
        value = smooth[place, column, rank]
    leveled[place, column, rank] = value


@wp.kernel(enable_backward=False)
def put_back(
    first: wp.int32,
    divisors: wp.array2d(dtype=wp.float32),
    order: wp.array3d(dtype=wp.int32),
    ranked: wp.array3d(dtype=wp.float32),
    sinograms: wp.array3d(dtype=wp.float32),
):
    """Ranked columns back in the order of the views: (slice, view, column)."""
    column, place, rank = wp.tid()
    column += first
    source = turned(rank, divisors[place, column], ranked.shape[2])
    sinograms[place, order[place, column, source], column] = ranked[place, column, rank]


def _text(file: str, **numbers: int) -> str:
    constants = ", ".join(f"{name} = {value}" for name, value in numbers.items())
    return "\n".join(["{", f"constexpr int {constants};", Path(__file__).with_name(file).read_text(), "}"])


@cache
def median_cpu(window: int):
    """The running median over at most so many columns; a thread is some ranks of a slice, all columns."""

    @wp.func_native(_text("running_median.cpp", LANES=LANES, WINDOW=window))
    def walk(
        ranked: wp.array3d(dtype=wp.float32),
        size: wp.int32,
        slice: wp.int32,
        rank: wp.int32,
        smooth: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def median_columns(
        first: wp.int32,
        ranked: wp.array3d(dtype=wp.float32),
        size: wp.int32,
        smooth: wp.array3d(dtype=wp.float32),
    ):
        packet, place = wp.tid()
        walk(ranked, size, place, (packet + first) * LANES, smooth)

    return median_columns


@cache
def median_cuda(window: int):
    """The same; a thread is one rank of a slice, and SPAN columns."""

    @wp.func_native(_text("running_median.cu", WINDOW=window))
    def walk(
        ranked: wp.array3d(dtype=wp.float32),
        size: wp.int32,
        slice: wp.int32,
        rank: wp.int32,
        begin: wp.int32,
        end: wp.int32,
        smooth: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def median_columns(
        first: wp.int32,
        ranked: wp.array3d(dtype=wp.float32),
        size: wp.int32,
        smooth: wp.array3d(dtype=wp.float32),
    ):
        place, span, rank = wp.tid()
        begin = span * SPAN
        walk(ranked, size, place + first, rank, begin, wp.min(begin + SPAN, ranked.shape[1]), smooth)

    return median_columns


@cache
def sum_cuda():
    """The same as sum_columns; a block is a column."""

    @wp.func_native(_text("summing.cu", THREADS=SUM_THREADS))
    def sum_column(
        ranked: wp.array3d(dtype=wp.float32),
        left_out: wp.int32,
        slice: wp.int32,
        column: wp.int32,
        thread: wp.int32,
        sums: wp.array2d(dtype=wp.float64),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def sum_blocks(
        first: wp.int32,
        left_out: wp.int32,
        ranked: wp.array3d(dtype=wp.float32),
        sums: wp.array2d(dtype=wp.float64),
    ):
        place, column, thread = wp.tid()
        sum_column(ranked, left_out, place + first, column, thread, sums)

    return sum_blocks


@cache
def sort_cuda(length: int):
    """Sorts columns of at most ``length`` views (a power of two, at most 4096); a block is a column."""

    @wp.func_native(_text("sorting.cu", LENGTH=length, THREADS=SORT_THREADS))
    def sort_column(
        columns_first: wp.array3d(dtype=wp.float32),
        slice: wp.int32,
        column: wp.int32,
        thread: wp.int32,
        ranked: wp.array3d(dtype=wp.float32),
        order: wp.array3d(dtype=wp.int32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def sort_columns(
        first: wp.int32,
        columns_first: wp.array3d(dtype=wp.float32),
        ranked: wp.array3d(dtype=wp.float32),
        order: wp.array3d(dtype=wp.int32),
    ):
        place, column, thread = wp.tid()
        sort_column(columns_first, place + first, column, thread, ranked, order)

    return sort_columns


@wp.kernel(enable_backward=False)
def step_columns(
    first: wp.int32, sinograms: wp.array3d(dtype=wp.float32), start: wp.int32, steps: wp.array3d(dtype=wp.float32)
):
    """What a column has more than the one before, in views from start on, turned."""
    column, place, view = wp.tid()
    column += first
    before = sinograms[place, start + view, wp.max(column - 1, 0)]
    steps[place, column, view] = sinograms[place, start + view, column] - before


@wp.kernel(enable_backward=False)
def compare_columns(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    places: wp.array(dtype=wp.int32),
    wrong: wp.array(dtype=wp.int32),
    around: wp.array2d(dtype=wp.int32),
    weights: wp.array2d(dtype=wp.float32),
    away: wp.array3d(dtype=wp.float32),
):
    """How far a column is, in every view, from the weighted sum of those around it."""
    index, view = wp.tid()
    index += first
    place = places[index]
    difference = sinograms[place, view, wrong[index]]
    for near in range(around.shape[1]):
        difference -= weights[index, near] * sinograms[place, view, around[index, near]]
    away[0, index, view] = difference
