"""``pellucid transport``, as it is typed."""

import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.cli.main import main


def lines(text: str) -> dict[str, str]:
    return {line.split()[0]: line for line in text.splitlines()}


def test_this_machine_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transport", "check", "--size", "1MiB"]) == 0
    found = lines(capsys.readouterr().out)
    assert list(found) == ["lane", "shm", "tcp", "ucx"]
    assert all(found[lane].count("GB/s") == 2 for lane in ("shm", "tcp", "ucx"))


def test_two_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "token"
    command = [sys.executable, "-m", "pellucid", "transport", "listen", "127.0.0.1:0", "--token-file", str(file)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdin is not None
        address = child.stdout.readline().strip()
        assert file.stat().st_mode & 0o777 == 0o600
        assert main(["transport", "check", address, "--token-file", str(file), "--size", "1MiB"]) == 0
        file.write_text("another secret")
        assert main(["transport", "check", address, "--token-file", str(file), "--size", "1MiB"]) == 1
        child.stdin.close()
    assert "rejected the token" in capsys.readouterr().out


def test_a_token_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transport", "check", "127.0.0.1:1"]) == 1
    assert "--token-file" in capsys.readouterr().err
