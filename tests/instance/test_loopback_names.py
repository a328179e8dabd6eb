"""Pages have a host name of their own, new at every start, at both addresses of this machine; and where other machines
reach a viewer, nobody else listens at its port."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pellucid.errors import InvalidInput
from pellucid.instance.access.loopback import IPV6_LOOPBACK, listen_everywhere, listen_on_loopback, new_host_name
from pellucid.instance.server import HOST, Instance
from pellucid.instance.session import SessionOptions
from tests.instance.loopback import running, served
from tests.transport.certificates import make_certificate
from tests.waiting import TIMEOUT_S


def has_ipv6() -> bool:
    try:
        socket.create_server((IPV6_LOOPBACK, 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with running(None, tmp_path_factory.mktemp("empty")) as instance:
        yield instance


def test_a_name_is_new_at_every_start() -> None:
    names = {new_host_name() for _ in range(100)}
    assert len(names) == 100 and all(name.endswith(".localhost") and len(name) > 20 for name in names)


def test_links_have_the_name_and_not_the_number(viewer: Instance) -> None:
    """At 127.0.0.1 another user may have left a service worker."""
    for link in (viewer.url, viewer.link("view")):
        assert urlsplit(link).hostname == urlsplit(viewer.address).hostname != HOST
        assert str(urlsplit(link).hostname).endswith(".localhost")


def test_nobody_else_can_listen_where_the_name_leads(viewer: Instance) -> None:
    places = [(socket.AF_INET, HOST), *([(socket.AF_INET6, IPV6_LOOPBACK)] if has_ipv6() else [])]
    for family, host in places:
        with socket.socket(family) as other, pytest.raises(OSError):
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind((host, viewer.port))
        shown = f"[{host}]" if ":" in host else host
        assert httpx.get(f"http://{shown}:{viewer.port}/").status_code == 200


def test_a_port_whose_other_address_is_taken_is_not_used() -> None:
    if not has_ipv6():  # Nobody can listen there, then.
        (only,) = listen_on_loopback(0)
        only.close()
        return
    with ExitStack() as stack:
        taken = stack.enter_context(socket.create_server((IPV6_LOOPBACK, 0), family=socket.AF_INET6))
        with pytest.raises(OSError):
            listen_on_loopback(taken.getsockname()[1])
        first, second = listen_on_loopback(0)
        stack.callback(first.close)
        stack.callback(second.close)
        assert first.getsockname()[1] == second.getsockname()[1]
        with pytest.raises(InvalidInput, match="Cannot use port"):
            Instance(port=taken.getsockname()[1])


def test_nobody_else_can_listen_at_the_port_of_a_viewer_for_other_machines() -> None:
    """The name of this machine may lead to an address of IPv6: another listener there would receive a code."""
    places = [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET, HOST)]
    places += [(socket.AF_INET6, "::"), (socket.AF_INET6, IPV6_LOOPBACK)] if has_ipv6() else []
    with ExitStack() as stack:
        listeners = listen_everywhere(0)
        for listener in listeners:
            stack.callback(listener.close)
        (port,) = {listener.getsockname()[1] for listener in listeners}
        for family, host in places:
            other = stack.enter_context(socket.socket(family))
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            with pytest.raises(OSError):
                other.bind((host, port))


def test_a_viewer_for_other_machines_answers_at_all_addresses(tmp_path: Path) -> None:
    setup = SessionOptions("cpu", (tmp_path,))
    with served(Instance(None, setup, certificate=make_certificate(tmp_path))) as instance:
        for host in (HOST, f"[{IPV6_LOOPBACK}]") if has_ipv6() else (HOST,):
            answer = httpx.get(f"https://{host}:{instance.port}/", verify=False, timeout=TIMEOUT_S)
            assert answer.status_code == 200
