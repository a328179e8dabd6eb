"""A network that misbehaves: a relay between two ends that can cut, damage or delay what passes through it."""

import socket
import threading
from contextlib import suppress
from types import TracebackType

CHUNK = 1 << 16


class Relay:
    """Forwards connections to a port of this machine.

    cut_after: bytes toward the listening end after which all connections are closed, once. flip_at: the byte toward the
    listening end that is turned over, once. delay_s: how long every chunk is held back, both ways.
    """

    def __init__(self, port: int, cut_after: int = -1, flip_at: int = -1, delay_s: float = 0.0) -> None:
        self._port = port
        self._cut_after, self._flip_at, self._delay_s = cut_after, flip_at, delay_s
        self._passed = 0
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.cuts = self.passed_before_cut = 0
        self.returned = 0
        self.has_returned = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def passed(self) -> int:
        return self._passed

    def cut(self) -> None:
        """Close all connections, as a pulled cable would in the end."""
        with self._lock:
            cut = self._cut()
        _close(cut)

    def _cut(self) -> list[socket.socket]:
        """From here on nothing passes through connections that were there before: these."""
        self.cuts += 1
        self.passed_before_cut = self._passed
        cut, self._connections = self._connections, []
        return cut

    def __enter__(self) -> "Relay":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                with self._lock:
                    self._connections += [near, far]
                    cuts = self.cuts
                for way in ((near, far, True, cuts), (far, near, False, cuts)):
                    threading.Thread(target=self._forward, args=way, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_toward: bool, cuts: int) -> None:
        pause = threading.Event()
        with suppress(OSError):
            while chunk := source.recv(CHUNK):
                if self._delay_s:
                    pause.wait(self._delay_s)
                passing = self._touched(bytearray(chunk), cuts) if is_toward else chunk
                if cuts != self.cuts:
                    break
                target.sendall(passing)
                if not is_toward:
                    self.returned += len(chunk)
                    self.has_returned.set()
        for connection in (source, target):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _touched(self, chunk: bytearray, cuts: int) -> bytearray:
        with self._lock:
            if cuts != self.cuts:
                return chunk
            before = self._passed
            self._passed += len(chunk)
            if before <= self._flip_at < self._passed:
                chunk[self._flip_at - before] ^= 0xFF
            is_over = 0 <= self._cut_after < self._passed
            self._cut_after = -1 if is_over else self._cut_after
            cut = self._cut() if is_over else []
        _close(cut)
        return chunk


def _close(connections: list[socket.socket]) -> None:
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
