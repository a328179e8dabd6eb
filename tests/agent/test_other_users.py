"""Another person of the same machine, and another machine with the same home."""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pellucid.agent.lease import holder
from pellucid.jobs.process_identity import ProcessId
from tests.agent.processes import AgentProcess, agent
from tests.stranger import can

CONNECT = "import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"


@pytest.fixture
def home() -> Iterator[Path]:
    """Open to everybody: nothing but our own care closes what is in it."""
    folder = Path(tempfile.mkdtemp(prefix="pellucid-home-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_another_user_gets_at_nothing(stranger: str, home: Path) -> None:
    assert can(stranger, "ls", str(home))  # What follows would be refused for other reasons if this were.
    with agent(home) as running:
        id = running.view(gpus=0)
        reply = running.until(id, "running")
        files = [path for path in home.rglob("*") if path.name != "site.toml"]
        assert {path.name for path in files} >= {
            "record.json",
            "address.json",
            "identity.json",
            "agent.json",
            "log.txt",
        }
        seen = [str(path) for path in files if can(stranger, "test", "-r", str(path))]
        # The folders on the way to what is private may be seen, and have nothing in them that may.
        assert [path for path in seen if Path(path).is_file()] == []
        inner = Path(json.loads((home / "agent/identity.json").read_text())["inner"])
        sockets = [inner / "socket", *_sockets_of(running, id)]
        assert len(sockets) >= 2
        for path in sockets:
            assert path.is_socket() and not can(stranger, "python3", "-c", CONNECT, str(path)), path
            subprocess.run(["python3", "-c", CONNECT, str(path)], check=True, capture_output=True)
        process = running.process.pid
        assert not can(stranger, "cat", f"/proc/{process}/environ")
        assert not can(stranger, "kill", "-0", str(process))
        for url in (running.base, running.base + reply["path"]):
            assert can(stranger, "curl", "--silent", "--fail", "--output", "/dev/null", url)  # The page is empty ...
            request = f"{url}api/about"
            assert not can(stranger, "curl", "--silent", "--fail", "--output", "/dev/null", request)  # ... and says no.
    assert pwd.getpwnam(stranger).pw_uid != 0


def _sockets_of(running: AgentProcess, id: str) -> list[Path]:
    """The Unix sockets of a viewer that have a path."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    paths = {line.split()[6]: line.split()[7] for line in lines if len(line.split()) == 8}
    script = ProcessId.written(running.place(id) / "started")
    assert script is not None
    viewer = Path(f"/proc/{script.pid}/task/{script.pid}/children").read_text().split()[0]
    opened = [str(path.readlink()) for path in Path(f"/proc/{viewer}/fd").iterdir() if path.is_symlink()]
    inodes = [name[8:-1] for name in opened if name.startswith("socket:[")]
    return [Path(paths[inode]) for inode in inodes if paths.get(inode, "").startswith("/")]


def test_agents_of_two_machines_with_one_home_do_not_fight(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    first, second = AgentProcess(tmp_path, host="login-1"), AgentProcess(tmp_path, host="login-2")
    first.start()
    try:
        id = first.view(gpus=0, name="of the first")
        first.until(id, "running")
        with pytest.raises(AssertionError, match=r"elsewhere\\nYour agent runs on login-1"):
            second.start()
        first.kill()
        second.start()  # From there it cannot be seen that it is dead; only that it has stopped counting.
        # What runs on the other machine is not taken for lost, and nothing of it is forgotten.
        state = second.until(id, "unknown")["state"]
        assert state["reason"] == "Running on login-1." and state["last"] == "running"
        with pytest.raises(AssertionError, match="Your agent runs on login-2"):
            first.start()
        second.stop()
        assert holder(tmp_path / "agent") is None
        first.start()
        first.until(id, "running")
        first.cancel(id)
        first.until(id, "ended")
    finally:
        for one in (first, second):
            one.process.terminate()
            one.process.wait()
