"""Where connections come from: this user, another user, another machine."""

import os
import pwd
import socket
import subprocess
from typing import cast

import pytest

from pellucid.transport.peer_user import Peer, peer_of
from tests.waiting import TIMEOUT_S

ASK = "exec 3<>/dev/tcp/127.0.0.1/$0; read -r _ <&3"
"""Of a shell: connect, and stay until the other end closes."""


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_program_of_this_user(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, 0), family=family)
    with listener, socket.create_connection(listener.getsockname()[:2]) as client:
        server, _ = listener.accept()
        with server:
            assert peer_of(server) == Peer(os.geteuid()) and peer_of(server).is_this_user
            client.shutdown(socket.SHUT_WR)
            assert peer_of(server).is_this_user
            client.close()
            # The system says of a closed one that it is the administrator's, who may well be this user.
            assert not peer_of(server).is_this_user


def test_a_local_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_of(ours).is_this_user
    assert peer_of(ours) == Peer(None)


def test_a_program_of_another_user(stranger: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(TIMEOUT_S)
        command = ["runuser", "-u", stranger, "--", "bash", "-c", ASK, str(listener.getsockname()[1])]
        with subprocess.Popen(command, cwd="/") as program:
            server, _ = listener.accept()
            with server:
                peer = peer_of(server)
            program.wait(TIMEOUT_S)
    assert peer.user == pwd.getpwnam(stranger).pw_uid and not peer.is_this_user


def test_addresses_of_this_machine_whose_user_has_left_are_one_peer() -> None:
    """One user who connects from a million of them, and closes at once, has one turn."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = set()
        for number in range(1, 5):
            with socket.create_connection(listener.getsockname(), source_address=(f"127.0.{number}.1", 0)):
                server, _ = listener.accept()
            with server:
                found.add(peer_of(server))
    assert found == {Peer(None)}


class OtherMachine:
    """A connection from elsewhere, as far as its addresses go."""

    def __init__(self, host: str, here: str) -> None:
        self._host, self._here = host, here
        self.family = socket.AF_INET6 if ":" in host else socket.AF_INET

    def getpeername(self) -> tuple[str, int]:
        return self._host, 5000

    def getsockname(self) -> tuple[str, int]:
        return self._here, 5001


def test_other_machines_are_peers_of_their_own() -> None:
    def host(there: str, here: str) -> str:
        return peer_of(cast(socket.socket, OtherMachine(there, here))).host

    assert host("192.0.2.1", "192.0.2.9") == "192.0.2.1"
    assert host("2001:db8::1", "2001:db8::9") == "2001:db8::1"
    assert host("192.0.2.9", "192.0.2.9") == host("2001:db8::9", "2001:db8::9") == ""
