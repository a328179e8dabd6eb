"""Two machines out of one: network namespaces joined by a cable, made and removed here."""

import ctypes
import fcntl
import os
import queue
import secrets
import select
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pytest

from tests.suite_report import MACHINE
from tests.waiting import wait_until

SET_INTERFACE = 0x400454CA
TUN_WITHOUT_HEADER = 0x1001
MAX_PACKET = 65536
POLL_S = 0.05


@dataclass(frozen=True)
class TwoHosts:
    """near and far: names of namespaces. far_address: where the far one is reached."""

    near: str
    far: str
    far_address: str = "10.93.0.2"

    def plug_in(self, mtu: int = 1500) -> None:
        for host, address in ((self.near, "10.93.0.1"), (self.far, self.far_address)):
            ip("-n", host, "addr", "add", f"{address}/24", "dev", "cable")
            ip("-n", host, "link", "set", "cable", "mtu", str(mtu), "up")
            ip("-n", host, "link", "set", "lo", "up")
        # The kernel says that a cable is up some time after packets pass, and UCX asks it.
        wait_until(lambda: all(self._is_up(host) for host in (self.near, self.far)))

    def _is_up(self, host: str) -> bool:
        shown = subprocess.run(["ip", "-n", host, "link", "show", "cable"], check=True, capture_output=True, text=True)
        return "LOWER_UP" in shown.stdout and "state DOWN" not in shown.stdout

    def inside(self, host: str) -> tuple[str, ...]:
        """What comes before a command that runs on that host."""
        return ("ip", "netns", "exec", host)

    def pull_cable(self) -> None:
        ip("-n", self.far, "link", "set", "cable", "down")

    def plug_cable(self) -> None:
        ip("-n", self.far, "link", "set", "cable", "up")

    def impair(self, *netem: str) -> None:
        """Delay or lose packets on the way, as ``tc netem`` says it."""
        for host in (self.near, self.far):
            command = [*self.inside(host), "tc", "qdisc", "replace", "dev", "cable", "root", "netem", *netem]
            subprocess.run(command, check=True, capture_output=True)


NEW_NETWORK = 0x40000000


@contextmanager
def entered(host: str) -> Iterator[None]:
    """This thread, and those that it starts, on a host."""
    before, there = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{host}", os.O_RDONLY)
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if library.setns(there, NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        yield
    finally:
        library.setns(before, NEW_NETWORK)
        os.close(there)
        os.close(before)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def two_hosts() -> Iterator[TwoHosts]:
    """Two hosts with a cable between them; skips the test where that is not permitted."""
    if MACHINE["no-namespaces"]():
        pytest.skip("needs network namespaces")
    with _unconnected() as hosts:
        ip("-n", hosts.near, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", hosts.far)
        hosts.plug_in()
        yield hosts


@contextmanager
def _unconnected() -> Iterator[TwoHosts]:
    mark = secrets.token_hex(4)
    hosts = TwoHosts(f"near-{mark}", f"far-{mark}")
    try:
        for host in (hosts.near, hosts.far):
            ip("netns", "add", host)
        yield hosts
    finally:
        for host in (hosts.near, hosts.far):
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)


@contextmanager
def bad_cable(lost: int = 0, delay_s: float = 0.0) -> Iterator[tuple[TwoHosts, list[int]]]:
    """Two hosts whose packets pass through this process. lost: every so-many-th is. Also how many were, each way.

    What ``tc netem`` does, where the kernel has none; and the same packets every time.
    """
    if MACHINE["no-tun"]():
        pytest.skip("needs a tun device")
    with _unconnected() as hosts, ExitStack() as stack:
        near, far = (_tun(host) for host in (hosts.near, hosts.far))
        stack.callback(os.close, near)
        stack.callback(os.close, far)
        hosts.plug_in(mtu=9000)
        counts, is_over = [0, 0], threading.Event()
        ways = [_Way(near, far, lost, delay_s, is_over), _Way(far, near, lost, delay_s, is_over)]
        try:
            yield hosts, counts
        finally:
            is_over.set()
            for index, way in enumerate(ways):
                way.end()
                counts[index] = way.lost_packets


class _Way:
    """One direction of a bad cable."""

    def __init__(self, source: int, target: int, lost: int, delay_s: float, is_over: threading.Event) -> None:
        self._source, self._target, self._lost, self._delay_s = source, target, lost, delay_s
        self._is_over, self.lost_packets = is_over, 0
        self._under_way: queue.Queue[tuple[float, bytes]] = queue.Queue()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._take, self._give)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        for thread in self._threads:
            thread.join()

    def _take(self) -> None:
        passed = 0
        while not self._is_over.is_set():
            if not select.select([self._source], [], [], POLL_S)[0]:
                continue
            packet, passed = os.read(self._source, MAX_PACKET), passed + 1
            if self._lost and passed % self._lost == 0:
                self.lost_packets += 1
            else:
                self._under_way.put((time.monotonic() + self._delay_s, packet))

    def _give(self) -> None:
        while not self._is_over.is_set():
            with suppress(queue.Empty, OSError):  # A cable that is not plugged in yet takes nothing.
                due, packet = self._under_way.get(timeout=POLL_S)
                self._is_over.wait(max(0.0, due - time.monotonic()))
                os.write(self._target, packet)


def _tun(host: str) -> int:
    """The near end of a device called cable in a host: what that host sends can be read here."""
    with entered(host):
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, SET_INTERFACE, struct.pack("16sH22x", b"cable", TUN_WITHOUT_HEADER))
    return device
