"""Two hosts: the same transfers between network namespaces, over a cable that can be pulled."""

from collections.abc import Iterator

import pytest

from tests.contracts.lanes import TOKEN, peer, reply
from tests.suite_report import MACHINE
from tests.transport.namespaces import TwoHosts, bad_cable, two_hosts
from tests.transport.peer import voxels

SIZE = str(voxels().nbytes)


@pytest.fixture
def hosts() -> Iterator[TwoHosts]:
    with two_hosts() as hosts:
        yield hosts


@pytest.mark.parametrize(("wanted", "lane"), [("auto", "tcp"), ("ucx", "ucx")])
def test_from_one_host_to_the_other(wanted: str, lane: str, hosts: TwoHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCX_TLS", "tcp")  # UCX would see through the disguise, and try shared memory.
    with peer("serve", f"{hosts.far_address}:0", TOKEN, prefix=hosts.inside(hosts.far)) as far:
        (address,) = reply(far, "listening")
        with peer("send", address, TOKEN, wanted, prefix=hosts.inside(hosts.near)) as near:
            assert reply(near, "sent") == [lane, SIZE, "0"]
        assert reply(far, "stored") == ["scan", lane, "0", "right"]


def test_shared_memory_does_not_reach_the_other_host(hosts: TwoHosts) -> None:
    with peer("serve", f"{hosts.far_address}:0", TOKEN, prefix=hosts.inside(hosts.far)) as far:
        (address,) = reply(far, "listening")
        with peer("send", address, TOKEN, "shm", prefix=hosts.inside(hosts.near)) as near:
            assert reply(near, "failed")[:6] == ["Unreachable", "Could", "not", "reach", "the", "local"]


def test_the_sender_is_killed_and_another_one_comes(hosts: TwoHosts) -> None:
    with peer("serve", f"{hosts.far_address}:0", TOKEN, prefix=hosts.inside(hosts.far)) as far:
        (address,) = reply(far, "listening")
        with peer("send", address, TOKEN, "tcp", "stall", prefix=hosts.inside(hosts.near)) as near:
            reply(near, "stalled")
        reply(far, "broken")
        with peer("send", address, TOKEN, "tcp", prefix=hosts.inside(hosts.near)) as near:
            assert reply(near, "sent") == ["tcp", SIZE, "0"]
        assert reply(far, "stored") == ["scan", "tcp", "0", "right"]


def test_a_cable_that_is_pulled_for_a_moment(hosts: TwoHosts) -> None:
    with peer("serve", f"{hosts.far_address}:0", TOKEN, prefix=hosts.inside(hosts.far)) as far:
        (address,) = reply(far, "listening")
        hosts.pull_cable()
        with peer("send", address, TOKEN, "tcp", prefix=hosts.inside(hosts.near)) as near:
            hosts.plug_cable()
            assert reply(near, "sent") == ["tcp", SIZE, "0"]
        assert reply(far, "stored") == ["scan", "tcp", "0", "right"]


@pytest.mark.parametrize("impairment", [("delay", "5ms"), ("loss", "1%")], ids=["delay", "loss"])
def test_a_bad_network(impairment: tuple[str, str], hosts: TwoHosts) -> None:
    if MACHINE["no-netem"]():
        pytest.skip("needs tc netem")
    hosts.impair(*impairment)
    with peer("serve", f"{hosts.far_address}:0", TOKEN, prefix=hosts.inside(hosts.far)) as far:
        (address,) = reply(far, "listening")
        with peer("send", address, TOKEN, "auto", prefix=hosts.inside(hosts.near)) as near:
            assert reply(near, "sent") == ["tcp", SIZE, "0"]
        assert reply(far, "stored") == ["scan", "tcp", "0", "right"]


@pytest.mark.parametrize(("lost", "delay_s"), [(50, 0.0), (0, 0.005), (200, 0.002)], ids=["loss", "delay", "both"])
def test_a_cable_that_loses_packets_and_takes_its_time(lost: int, delay_s: float) -> None:
    with (
        bad_cable(lost, delay_s) as (hosts, counts),
        peer("serve", f"{hosts.far_address}:0", TOKEN, prefix=hosts.inside(hosts.far)) as far,
    ):
        (address,) = reply(far, "listening")
        with peer("send", address, TOKEN, "auto", prefix=hosts.inside(hosts.near)) as near:
            assert reply(near, "sent") == ["tcp", SIZE, "0"]
        assert reply(far, "stored") == ["scan", "tcp", "0", "right"]
    assert (counts[0] > 0) is (lost > 0)
