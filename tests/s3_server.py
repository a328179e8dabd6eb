"""A real S3 server for tests: rclone's, on a free loopback port, over a folder.

Here: start_s3 and the environment that points S3 programs at it.
Not here: who starts it, and how often (conftest).
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KEY = "pellucid-test"
SECRET = "not-a-secret"
BUCKET = "volumes"


@dataclass(frozen=True)
class S3Server:
    """A running server. folder: where it keeps its buckets. To be looked at only: the server remembers names."""

    endpoint: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def url(self, key: str) -> str:
        return f"s3://{BUCKET}/{key}"

    def path(self, key: str) -> Path:
        return self.folder / BUCKET / key


@contextmanager
def start_s3(folder: Path) -> Iterator[S3Server]:
    """Serve a folder with one empty bucket until the block ends."""
    (folder / BUCKET).mkdir(parents=True)
    port = free_port()
    address = f"127.0.0.1:{port}"
    command = [_rclone(), "serve", "s3", "--addr", address, "--auth-key", f"{KEY},{SECRET}"]
    process = subprocess.Popen([*command, str(folder)], stderr=subprocess.PIPE, text=True, env=_environment(folder))
    try:
        _wait(process)
        yield S3Server(f"http://{address}", folder)
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _rclone() -> str:
    beside = Path(sys.executable).parent / "rclone"
    return str(beside) if beside.exists() else "rclone"


def _environment(folder: Path) -> dict[str, str]:
    # No configuration of this machine's user may leak into the test.
    return {**os.environ, "RCLONE_CONFIG": str(folder / "rclone.conf"), "RCLONE_LOG_LEVEL": "NOTICE"}


def _wait(process: "subprocess.Popen[str]") -> None:
    """Until the server says that it listens."""
    assert process.stderr is not None
    text = []
    for line in process.stderr:
        text.append(line)
        if "Starting s3 server on" in line:
            # Somebody must go on reading, or the server stops at a full pipe.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return
    raise RuntimeError(f"rclone did not start: {''.join(text)}")
