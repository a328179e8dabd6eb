"""Many connections that say nothing keep nobody out who can show who they are."""

import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pellucid import progress
from pellucid.transport.acceptor import MAX_UNAUTHENTICATED
from pellucid.transport.client import TransferOptions, send
from pellucid.transport.connections import UNKNOWN, ConnectionRegistry, raise_descriptor_limit
from pellucid.transport.peer_user import Peer
from pellucid.transport.server import Listener
from pellucid.transport.wire.messages import Channel, Timeout
from tests.clock import Clock
from tests.contracts.lanes import TOKEN, WAIT_S
from tests.transport.certificates import make_certificate

SMALL = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
IDLE = 100
HIGH = 1024


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with progress.use(progress.Silent()):
        yield


class Connections:
    """A registry, and which of its connections were closed."""

    def __init__(self, max_waiting: int = 3, max_guests: int = 2) -> None:
        self.clock, self.closed = Clock(0.0), list[str]()
        self.registry = ConnectionRegistry(max_waiting, max_guests, timeout_s=10.0, clock=self.clock)

    def add(self, *names: str, peer: Peer = UNKNOWN) -> None:
        for name in names:
            self.registry.add(name, partial(self.closed.append, name), partial(self.closed.__contains__, name), peer)


def test_the_oldest_that_never_showed_anything_goes_first() -> None:
    connections = Connections()
    connections.add("owner", "b", "c")
    assert connections.registry.begin("owner", is_owner=True)
    connections.registry.end("owner")
    connections.add("d")
    assert connections.closed == ["b"]
    connections.add("e", "f")
    assert connections.closed == ["b", "c", "d"]


def test_those_of_this_user_go_after_those_of_others() -> None:
    connections = Connections()
    connections.add("own", peer=Peer(os.geteuid()))
    connections.add("b", "c", "d", "e", peer=Peer(os.geteuid() + 1))
    assert connections.closed == ["b", "c"]
    assert connections.registry.peer("own").is_this_user and not connections.registry.peer("d").is_this_user


def test_one_that_is_served_is_never_closed() -> None:
    connections = Connections()
    connections.add("guest", "owner")
    assert connections.registry.begin("guest", is_owner=False) and connections.registry.begin("owner", is_owner=True)
    connections.add(*"abcdefgh")
    connections.clock.now = 1e6
    connections.registry.close_expired()
    assert sorted(connections.closed) == list("abcdefgh")


def test_one_that_waits_too_long_is_closed_also_between_requests() -> None:
    connections = Connections()
    connections.add("a", "b")
    connections.registry.begin("a", is_owner=False)
    connections.clock.now = 9.0
    connections.registry.end("a")
    connections.add("c")
    connections.clock.now = 10.0
    connections.registry.close_expired()
    assert connections.closed == ["b"]
    connections.clock.now = 19.0
    connections.registry.close_expired()
    assert sorted(connections.closed) == ["a", "b", "c"] and connections.registry.waiting == 0


def test_one_that_something_is_sent_to_waits_longer_and_still_makes_room() -> None:
    connections = Connections()
    connections.add("page")
    connections.registry.prolong("page", 60.0)
    connections.registry.prolong("gone", 60.0)
    connections.clock.now = 69.0
    connections.registry.close_expired()
    assert connections.closed == []
    connections.add("b", "c", "d")
    assert connections.closed == ["page"]


def test_guests_are_limited_and_owners_are_not() -> None:
    connections = Connections(max_waiting=9)
    connections.add(*"abcdef")
    begun = [connections.registry.begin(name, is_owner=name in "def") for name in "abcdef"]
    assert begun == [True, True, False, True, True, True]
    connections.registry.end("a")
    assert connections.registry.begin("c", is_owner=False)
    connections.closed.append("b")  # It went away by itself, which frees its place.
    assert connections.registry.begin("a", is_owner=False)


@pytest.mark.parametrize("is_secured", [False, True], ids=["plain", "tls"])
def test_idle_connections_do_not_stop_transfers(is_secured: bool, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path) if is_secured else None
    assert IDLE > MAX_UNAUTHENTICATED
    with Listener(token=TOKEN, certificate=certificate) as listener, ExitStack() as stack:
        place = ("127.0.0.1", listener.address.port)
        idle = [stack.enter_context(socket.create_connection(place, WAIT_S)) for _ in range(IDLE)]
        send(str(listener.address), SMALL, token=TOKEN, options=TransferOptions("tcp"))
        assert (listener.receive(WAIT_S).array == SMALL).all()
        while idle[0].recv(65536):  # The greeting, and then the end.
            pass


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """What is opened from now on has a number that select does not accept."""
    raise_descriptor_limit()
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < HIGH + 256:
        pytest.skip("This machine allows too few descriptors.")
    with ExitStack() as stack:
        while (filler := os.open(os.devnull, os.O_RDONLY)) < HIGH:
            stack.callback(os.close, filler)
        os.close(filler)
        yield


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_arrays_arrive_while_thousands_of_descriptors_are_open(lane: str, many_descriptors: None) -> None:
    """Another user who opens connections to a viewer faster than it closes them gives it that many."""
    with Listener(token=TOKEN) as listener:
        send(str(listener.address), SMALL, token=TOKEN, options=TransferOptions(lane, attempts=1))
        assert (listener.receive(WAIT_S).array == SMALL).all()


def test_a_dead_sender_is_recognised_by_any_descriptor(many_descriptors: None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = Channel(ours, Timeout(WAIT_S, threading.Event()), is_local=True)
        assert not channel.is_peer_dead  # It is this process.
        assert not channel.has_data()
        theirs.close()
        assert channel.has_data()


def test_the_limit_of_descriptors_is_raised() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard <= 256:
        pytest.fail("This machine allows too few descriptors for a server.")
    code = (
        "import resource; from pellucid.transport.connections import raise_descriptor_limit;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]));"
        "raise_descriptor_limit(); print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    soft, after = (int(word) for word in done.stdout.split())
    assert after == hard
    assert soft == (65536 if hard == resource.RLIM_INFINITY else min(hard, 65536))
