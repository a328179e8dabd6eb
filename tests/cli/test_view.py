"""``pellucid view`` as a process: an address, a page behind it, a clean end."""

import os
import pty
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.client.connection import Connection
from pellucid.volume.sample_volume import sample
from tests.suite_report import ROOT
from tests.waiting import wait_until

LINK = re.compile(r"http://[0-9a-f]{16}\.localhost:\d+/#code=")
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # Ignored by what a shell starts in the background.
from pellucid.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
PROGRAM = [sys.executable, "-m", "tests.cli.interruptible"]
PATHS = os.pathsep.join((str(ROOT / "src"), str(ROOT)))


@pytest.mark.parametrize("requested", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_prints_an_address_that_opens_and_ends_in_order_when_asked(
    tmp_path: Path, requested: signal.Signals
) -> None:
    np.save(tmp_path / "ball.npy", sample(16))
    made = tmp_path / ("made" * 30)  # No Unix socket could be in a folder with such a path.
    made.mkdir()
    left = {"PELLUCID_STATE_FOLDER": str(tmp_path / "state"), "TMPDIR": str(made)}
    command = [*PROGRAM, "view", str(tmp_path / "ball.npy"), "--no-browser", "--device", "cpu"]
    pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONPATH": PATHS, **left}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        # Whatever else is printed first, such as a compiler's notes, is no address.
        url = next(line for line in process.stdout if LINK.match(line)).strip()
        with urlopen(url) as page:
            assert page.status == 200 and b"<title>Pellucid</title>" in page.read()
        process.send_signal(requested)
        _, text = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in text and "interrupted" not in text
    assert list((tmp_path / "state" / "instances").iterdir()) == [] == list(made.iterdir())


def test_a_viewer_without_a_file_offers_those_that_are_here(tmp_path: Path) -> None:
    """In a fresh interpreter, which has imported nothing before."""
    np.save(tmp_path / "ball.npy", sample(16))
    command = [sys.executable, "-c", START, "view", "--no-browser", "--device", "cpu", "--idle-timeout", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        assert process.stdout is not None
        url = next(line for line in process.stdout if LINK.match(line)).strip()
        found = Connection(url).ask("GET", "/api/files", folder=str(tmp_path))
        assert [entry["name"] for entry in found["entries"]] == ["ball.npy"]
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0


def test_enter_gives_a_fresh_link(tmp_path: Path) -> None:
    command = [*PROGRAM, "view", "--no-browser", "--device", "cpu"]
    environment = {**os.environ, "PYTHONPATH": PATHS}
    terminal, theirs = pty.openpty()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=theirs, stdout=pipe, text=True, env=environment, cwd=tmp_path) as process:
        assert process.stdout is not None
        links = [next(line for line in process.stdout if LINK.match(line))]
        assert process.stdout.readline() == "The link works once. Press Enter for a new one. Press Ctrl-C to stop.\n"
        for _ in range(2):
            os.write(terminal, b"\n")
            links.append(process.stdout.readline())
        assert len(set(links)) == 3
        for link in links:
            assert Connection(link.strip()).ask("GET", "/api/about")["capability"] == "own"
        process.send_signal(signal.SIGINT)
    os.close(terminal)
    os.close(theirs)


def test_a_browser_is_opened_without_a_secret_in_its_arguments(tmp_path: Path) -> None:
    script, seen = tmp_path / "browser", tmp_path / "arguments.txt"
    script.write_text(f'#!/bin/sh\necho "$@" > {seen}.part; mv {seen}.part {seen}\n')
    script.chmod(0o755)
    state = {"PELLUCID_STATE_FOLDER": str(tmp_path / "state"), "BROWSER": f"{script} %s", "DISPLAY": ":0"}
    command = [*PROGRAM, "view", "--device", "cpu"]
    environment = {**os.environ, "PYTHONPATH": PATHS, **state}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        wait_until(seen.exists)
        path = Path(seen.read_text().strip().removeprefix("file://"))
        assert path.parent == tmp_path / "state/open" and path.suffix == ".html"
        assert [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)] == [0o600, 0o700]
        (link,) = re.findall(r'location\.replace\("(.*?)"\)', path.read_text())
        assert Connection(link).ask("GET", "/api/about")["capability"] == "own"
        process.send_signal(signal.SIGINT)


def test_what_cannot_be_opened_is_told_before_there_is_an_address(tmp_path: Path) -> None:
    assert main(["view", str(tmp_path / "absent.npy"), "--no-browser"]) == 1
