"""Forks have what Popen was given, and everything else starts as usual."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fork_server import ForkServer, is_possible
from tests.waiting import wait_until

PELLUCID = [sys.executable, "-m", "pellucid"]
pytestmark = pytest.mark.skipif(not is_possible(), reason="needs a Python whose Popen can be replaced")


def test_a_fork_is_a_child_with_the_command_environment_folder_and_session(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    before, file = fork_server.forks, tmp_path / "token"
    command = [*PELLUCID, "transport", "listen", "127.0.0.1:0", "--token-file", str(file)]
    environment = {**os.environ, "TEST_MARK": "forked"}
    environment.pop("HOME", None)
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True, umask=0o077
    ) as process:
        assert process.stdout is not None and "127.0.0.1" in process.stdout.readline()
        wait_until(file.exists)
        proc = Path(f"/proc/{process.pid}")
        shown = [(proc / name).read_bytes().rstrip(b"\0").split(b"\0") for name in ("cmdline", "environ")]
        assert shown[0] == [os.fsencode(word) for word in command]
        assert sorted(shown[1]) == sorted(os.fsencode(f"{name}={value}") for name, value in environment.items())
        assert (proc / "cwd").resolve() == tmp_path
        status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines())
        assert (int(status["PPid"]), status["Umask"]) == (os.getpid(), "0077")
        assert os.getsid(process.pid) == process.pid
        process.send_signal(signal.SIGKILL)
    assert (process.returncode, fork_server.forks) == (-signal.SIGKILL, before + 1)


def test_output_and_exit_code_come_back(fork_server: ForkServer, tmp_path: Path) -> None:
    before = fork_server.forks
    done = subprocess.run([*PELLUCID, "info", "absent.npy"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "") and "absent.npy does not exist." in done.stderr
    assert subprocess.run([*PELLUCID, "--version"], capture_output=True, check=True).stdout.startswith(b"pellucid ")
    assert fork_server.forks == before + 2


def test_other_commands_and_other_interpreters_start_as_usual(fork_server: ForkServer, tmp_path: Path) -> None:
    before = fork_server.forks
    code = "import sys; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"
    for setting in ({"OMP_NUM_THREADS": "3"}, {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}):
        subprocess.run([*PELLUCID, "--version"], env={**os.environ, **setting}, capture_output=True, check=True)
    assert fork_server.forks == before
    with pytest.raises(FileNotFoundError):
        subprocess.run([*PELLUCID, "--version"], cwd=tmp_path / "absent", check=True)


def test_a_fork_is_interrupted_however_early(fork_server: ForkServer, tmp_path: Path) -> None:
    before = fork_server.forks
    for _ in range(3):
        command = [*PELLUCID, "transport", "listen", "127.0.0.1:0", "--token-file", str(tmp_path / "token")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(60) != 0
            finally:
                process.kill()
    assert fork_server.forks == before + 3
