"""How fast does an array get from one program to another, on one machine and over a network?

    python -m benchmarks.transport [--quick] [--json FILE]

Sender and receiver are separate processes. "moving" counts from the receiver's readiness to its last
acknowledgement, as iperf3 and the plain socket do (both receive into memory that is there already); "whole call" also
has the handshake and the receiver's allocation, as a user waits for it. The receiver uses its memory again, but where a
row says "new memory". The veth pair joins two network namespaces, as if they were two hosts.

On a busy machine, ``chrt -f 10`` before it keeps others out.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.table import Row, faster, in_turn, options, report, shorter, unavailable
from benchmarks.transport_hosts import (
    LOOPBACK,
    Place,
    c_sender,
    inside,
    iperf3,
    listener_behind_the_web,
    our_listener,
    plain_receiver,
    send_from_c,
    send_plainly,
    two_hosts,
)
from pellucid import progress
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.progress import amount
from pellucid.settings import available_memory_bytes
from pellucid.transport.client import TransferOptions, allocate, send, stream

STREAMS = 4
GB = 1e9


@dataclass(frozen=True)
class Size:
    nbytes: int
    iperf_s: int
    repeats: int

    def __str__(self) -> str:
        return f"{amount(self.nbytes, 'B')} float32, {STREAMS} streams, medians of {self.repeats}, taking turns"


FULL = Size(nbytes=4 * 2**30, iperf_s=2, repeats=3)
QUICK = Size(nbytes=2**28, iperf_s=1, repeats=3)


def fitting(size: Size) -> Size:
    """The same with less, where four arrays of it would not fit."""
    while size.nbytes > QUICK.nbytes and available_memory_bytes() < 4 * size.nbytes:
        size = replace(size, nbytes=size.nbytes // 2)
    return size


def main() -> None:
    given = options("Arrays between programs and machines.")
    size = QUICK if given.is_quick else fitting(FULL)
    array = np.arange(size.nbytes // 4, dtype=np.float32)
    with progress.use(progress.Silent()):
        rows = network_rows(LOOPBACK, array, size)
        try:
            with two_hosts() as far:
                rows += network_rows(far, array, size)
        except (OSError, subprocess.CalledProcessError) as error:
            rows.append(unavailable("TCP, veth pair", "iperf3", f"no network namespaces: {error}"))
        rows += ucx_rows(array, size) + web_rows(array, size)
        rows += memory_rows(array, size) + new_memory_rows(array, size) + allocation_rows(size)
        rows += stream_rows(array, size) + c_rows(array, size)
    report("transport", rows, str(size), given)


def moving_rate(address: str, token: str, array: Voxels, chosen: TransferOptions) -> float:
    sent = send(address, array, token=token, options=chosen)
    return sent.nbytes / sent.moving_s


def network_rows(place: Place, array: Voxels, size: Size) -> list[Row]:
    tcp = TransferOptions("tcp", streams=STREAMS)
    with ExitStack() as stack:
        address, token = stack.enter_context(our_listener(place, size.nbytes))
        port = stack.enter_context(plain_receiver(place, size.nbytes))
        stack.enter_context(inside(place.namespace))
        measures: dict[str, Callable[[], float]] = {
            "ours": lambda: moving_rate(address, token, array, tcp),
            "unchecked": lambda: moving_rate(address, token, array, TransferOptions("tcp", checksum="none")),
            "plain": lambda: send_plainly(place, port, array),
            "iperf3": lambda: iperf3(place, STREAMS, size.iperf_s),
        }
        rates = {name: rate / GB for name, rate in in_turn(measures, size.repeats).items()}
    case = f"TCP, {place.name}, moving"
    return [
        faster(case, "GB/s", rates["ours"], f"iperf3 -P {STREAMS}", rates["iperf3"]),
        faster(case, "GB/s", rates["ours"], "one plain Python socket", rates["plain"]),
        faster(f"{case}, with xxh3", "GB/s", rates["ours"], "ours without checksum", rates["unchecked"]),
    ]


def ucx_rows(array: Voxels, size: Size) -> list[Row]:
    case = "UCX lane, loopback, moving"
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        # UCX waits busily: the process that it waits for would never have its turn.
        return [unavailable(case, "ours over TCP", "not under a real-time policy")]
    part = array[: QUICK.nbytes // 4]
    with our_listener(LOOPBACK, part.nbytes) as (address, token):
        lanes = {lane: partial(moving_rate, address, token, part, TransferOptions(lane)) for lane in ("ucx", "tcp")}
        rates = {name: rate / GB for name, rate in in_turn(lanes, size.repeats).items()}
    return [faster(case, "GB/s", rates["ucx"], "ours over TCP", rates["tcp"])]


def web_rows(array: Voxels, size: Size) -> list[Row]:
    """Through an agent and a viewer's web server, which is the last resort."""
    part = array[: QUICK.nbytes // 4]
    with (
        our_listener(LOOPBACK, part.nbytes) as (direct, token),
        listener_behind_the_web(part.nbytes) as (address, other_token),
    ):
        measures = {
            "web": partial(moving_rate, address, other_token, part, TransferOptions("proxy")),
            "direct": partial(moving_rate, direct, token, part, TransferOptions("tcp")),
        }
        rates = {name: rate / GB for name, rate in in_turn(measures, size.repeats).items()}
    case = f"through an agent and a web server, {amount(part.nbytes, 'B')}, moving"
    return [faster(case, "GB/s", rates["web"], "ours over TCP", rates["direct"])]


def memory_rows(array: Voxels, size: Size) -> list[Row]:
    """Between two processes of one machine, against copying inside one."""
    target = np.zeros_like(array)
    shm = TransferOptions("shm")
    with our_listener(LOOPBACK, size.nbytes) as (address, token):
        measures: dict[str, Callable[[], float]] = {
            "moving": lambda: moving_rate(address, token, array, shm),
            "whole": lambda: send(address, array, token=token, options=shm).rate,
            "copy": lambda: copying_rate(array, lambda: target),
        }
        rates = {name: rate / GB for name, rate in in_turn(measures, size.repeats).items()}
    case, peer = "shared memory, ordinary array", "memcpy, both warm"
    return [
        faster(f"{case}, moving", "GB/s", rates["moving"], peer, rates["copy"]),
        faster(f"{case}, whole call", "GB/s", rates["whole"], peer, rates["copy"]),
    ]


def new_memory_rows(array: Voxels, size: Size) -> list[Row]:
    """The same where the memory was not touched before: a new listening end, or a new array, each time."""

    def sending() -> float:
        with our_listener(LOOPBACK, size.nbytes) as (address, token):
            return send(address, array, token=token, options=TransferOptions("shm")).rate

    def shared() -> float:
        with SharedArray.create(array.shape, array.dtype) as new:
            return copying_rate(array, lambda: new.array)

    measures = {"ours": sending, "shared": shared, "new": lambda: copying_rate(array, lambda: np.empty_like(array))}
    rates = {name: rate / GB for name, rate in in_turn(measures, size.repeats).items()}
    case = "shared memory, ordinary array, whole call, new memory"
    return [
        faster(case, "GB/s", rates["ours"], "memcpy to new shared memory", rates["shared"]),
        faster(case, "GB/s", rates["ours"], "memcpy to new memory", rates["new"]),
    ]


def copying_rate(array: Voxels, target: Callable[[], Voxels]) -> float:
    start = time.perf_counter()
    np.copyto(target(), array)
    return array.nbytes / (time.perf_counter() - start)


def allocation_rows(size: Size) -> list[Row]:
    """Memory asked for first: handing it over takes the same time whatever its size."""

    def handing_over(nbytes: int) -> float:
        with allocate(address, (nbytes // 4,), "float32", token=token) as wanted:
            wanted.array[:1024] = 1
            start = time.perf_counter()
            wanted.send()
            return (time.perf_counter() - start) * 1e3

    with our_listener(LOOPBACK, size.nbytes) as (address, token):
        times = in_turn(
            {"large": lambda: handing_over(size.nbytes), "small": lambda: handing_over(size.nbytes // 1024)},
            size.repeats,
        )
    case = f"allocate, fill, send: the sending of {amount(size.nbytes, 'B')}"
    return [shorter(case, "ms", times["large"], f"of {amount(size.nbytes // 1024, 'B')}", times["small"])]


def stream_rows(array: Voxels, size: Size) -> list[Row]:
    slices = array.view(np.uint16)[: array.nbytes // 2 // 2**20 * 2**20].reshape(-1, 1024, 1024)

    def streaming() -> float:
        with stream(address, slices.shape, "uint16", token=token, options=TransferOptions("tcp")) as writer:
            start = time.perf_counter()
            for slice_ in slices:
                writer.append(slice_)
        return slices.nbytes / (time.perf_counter() - start)

    with our_listener(LOOPBACK, size.nbytes) as (address, token):
        measures = {
            "stream": streaming,
            "whole": lambda: moving_rate(address, token, slices, TransferOptions("tcp")),
        }
        rates = {name: rate / GB for name, rate in in_turn(measures, size.repeats).items()}
    case = f"stream of {len(slices)} slices of 1024² uint16, loopback, moving"
    return [faster(case, "GB/s", rates["stream"], "ours, all at once", rates["whole"])]


def c_rows(array: Voxels, size: Size) -> list[Row]:
    case = "C to Python, TCP, loopback, whole call"
    with built() as folder, our_listener(LOOPBACK, size.nbytes) as (address, token):
        try:
            with c_sender(address, token, size.nbytes, folder) as child:
                measures = {
                    "C": lambda: send_from_c(child, size.nbytes),
                    "Python": lambda: send(address, array, token=token, options=TransferOptions("tcp")).rate,
                }
                rates = {name: rate / GB for name, rate in in_turn(measures, size.repeats).items()}
        except (OSError, subprocess.CalledProcessError) as error:
            return [unavailable(case, "Python to Python", str(error))]
    return [faster(case, "GB/s", rates["C"], "Python to Python", rates["Python"])]


@contextmanager
def built() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


if __name__ == "__main__":
    main()
