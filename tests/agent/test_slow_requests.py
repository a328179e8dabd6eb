"""A user of the same machine without any secret cannot end the agent, or keep its owner out."""

import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from pellucid.transport.connections import MAX_WAITING, raise_descriptor_limit
from tests.agent.processes import agent
from tests.waiting import TIMEOUT_S

SLOW_BODY = b"POST /api/session HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{"
COUNT = 3 * MAX_WAITING


def test_requests_whose_body_never_comes_are_closed_and_the_owner_gets_in(tmp_path: Path) -> None:
    raise_descriptor_limit()
    with agent(tmp_path) as running, ExitStack() as stack:
        place = urlsplit(running.base)
        slow = []
        for _ in range(COUNT):
            line = stack.enter_context(socket.create_connection((place.hostname, place.port), TIMEOUT_S))
            line.sendall(SLOW_BODY)
            slow.append(line)
        assert running.ask("GET", "/api/about")["product"]
        for line in slow[: COUNT - MAX_WAITING]:
            assert line.recv(1) == b""
        assert running.ask("GET", "/api/jobs") == []
        for line in slow:  # The others have ten seconds for their body.
            assert line.recv(65536)[:12] in (b"", b"HTTP/1.1 408")
