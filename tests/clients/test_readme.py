"""The README's "Send from another machine", exactly as printed, between two hosts: from Python and from C."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.clients.programs import printed_address
from tests.suite_report import ROOT
from tests.transport.namespaces import TwoHosts, two_hosts
from tests.waiting import TIMEOUT_S

SECTION = (ROOT / "README.md").read_text().partition("## Send from another machine\n")[2].partition("\n## ")[0]
Z, Y, X = np.ogrid[-64:64, -64:64, -64:64]
BALL = int(((X * X + Y * Y + Z * Z < 60 * 60) & ((X < 0) | (Y >= 0))).sum())
"""How many voxels it has."""
NAMES = Path("/etc/netns")
"""Where ``ip netns exec`` takes the hosts file of a namespace from."""


def printed(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)
    return str(found)


def command(start: str, address: str) -> str:
    """The command in the text that begins so, with the address in place."""
    (found,) = re.findall(rf"`({re.escape(start)} [^`]*'ADDRESS')`", SECTION)
    return str(found).replace("ADDRESS", address)


@contextmanager
def known_by_name(hosts: TwoHosts) -> Iterator[TwoHosts]:
    """The near host finds the far one by its name, as a name server would tell it."""
    folder = NAMES / hosts.near
    folder.mkdir(parents=True)
    try:
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts.far_address} {socket.gethostname()}\n")
        yield hosts
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def hosts() -> Iterator[TwoHosts]:
    with two_hosts() as made, known_by_name(made):
        yield made


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As somebody has it who installed Pellucid."""
    pellucid_command = tmp_path / "bin" / "pellucid"
    pellucid_command.parent.mkdir()
    pellucid_command.write_text(f'#!/bin/sh\nexec {sys.executable} -m pellucid.cli.main "$@"\n')
    pellucid_command.chmod(0o755)
    (tmp_path / "clients").symlink_to(ROOT / "clients")
    (tmp_path / "send.py").write_text(printed("python"))
    (tmp_path / "send.c").write_text(printed("c"))
    path = os.pathsep.join((str(pellucid_command.parent), str(Path(sys.executable).parent), os.environ["PATH"]))
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT / "src"),
        "PELLUCID_STATE_FOLDER": str(tmp_path / "state"),
    }


@contextmanager
def showing(hosts: TwoHosts, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """What the README says for the machine that shows; the address that it prints."""
    shell = [*hosts.inside(hosts.far), "sh", "-c", f"exec {printed('sh')}"]
    with subprocess.Popen(shell, text=True, stdout=subprocess.PIPE, cwd=folder, env=environment) as child:
        try:
            yield printed_address(child)
        finally:
            child.terminate()


LOOK = """
import sys, pellucid
viewer = pellucid.connect(sys.argv[1])
(layer,) = viewer._connection.ask("GET", "/api/scene")["layers"]
voxels, pixels = viewer.retrieve_volume(), viewer.screenshot(160, 120)[..., :3].max(axis=-1)
seen = pixels[60, 50] > 60, pixels[60, 110] > 60, pixels[0, 0] == 0
print(layer["name"], int(voxels.max()), int((voxels > 0).sum()), *seen)
"""
"""Its name, the voxels, and whether the ball is seen at the left and the right, and nothing in the corner."""


def test_send_from_another_machine(hosts: TwoHosts, tmp_path: Path, environment: dict[str, str]) -> None:
    if shutil.which("cc") is None or shutil.which("make") is None:
        pytest.skip("needs a C compiler")
    (single_file,) = re.findall(r"`(make -C [^`]*)`", SECTION)
    subprocess.run(["sh", "-c", str(single_file)], cwd=tmp_path, env=environment, check=True, capture_output=True)
    with showing(hosts, tmp_path, environment) as address:
        for start, text in (("python", r"through tcp in"), ("cc", r"^4\.2 MB through tcp in")):
            shell = [*hosts.inside(hosts.near), "sh", "-c", command(start, address)]
            sent = subprocess.run(
                shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
            assert sent.returncode == 0 and re.search(text, sent.stdout), sent.stdout + sent.stderr
            request = [*hosts.inside(hosts.near), sys.executable, "-c", LOOK, address]
            shown = subprocess.run(request, env=environment, capture_output=True, text=True, check=True).stdout
            name = {"python": "from Python", "cc": "from C"}[start]
            assert shown.strip() == f"{name} 3600 {BALL} True True True"
