"""Two machines out of one: network namespaces joined by a cable, made and removed here."""

import ctypes
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.suite_report import MACHINE


@dataclass(frozen=True)
class TwoHosts:
    """near and far: names of namespaces. far_address: where the far one is reached."""

    near: str
    far: str
    far_address: str = "10.93.0.2"

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
    mark = secrets.token_hex(4)
    hosts = TwoHosts(f"near-{mark}", f"far-{mark}")
    try:
        for host in (hosts.near, hosts.far):
            ip("netns", "add", host)
        ip("-n", hosts.near, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", hosts.far)
        for host, address in ((hosts.near, "10.93.0.1"), (hosts.far, hosts.far_address)):
            ip("-n", host, "addr", "add", f"{address}/24", "dev", "cable")
            ip("-n", host, "link", "set", "cable", "up")
            ip("-n", host, "link", "set", "lo", "up")
        yield hosts
    finally:
        for host in (hosts.near, hosts.far):
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)
