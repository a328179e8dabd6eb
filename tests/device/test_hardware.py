"""Choosing a device, and that choosing loads nothing it need not."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pellucid import settings
from pellucid.device import Device, choose, devices, hardware, primitives
from pellucid.errors import DeviceUnavailable

CARDS = (
    Device("cpu", "cpu", "Processor", 2**34),
    Device("cuda:0", "cuda", "Card", 2**33),
    Device("cuda:1", "cuda", "Card", 2**35),
)


def run(code: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)


def test_the_cpu_is_always_there() -> None:
    assert devices()[0] == choose("cpu")
    assert choose("cpu").total_bytes == settings.total_memory_bytes()
    assert choose("cpu").label


def test_choice_among_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pellucid.device.hardware._found", lambda: CARDS)
    assert [choose(request).name for request in ("auto", "cuda", "cuda:1")] == ["cuda:0", "cuda:0", "cuda:1"]
    assert choose("cuda:1").index == 1
    with settings.use(replace(settings.current(), device="cuda:1")):
        assert choose() == CARDS[2]
    with pytest.raises(DeviceUnavailable, match=r"'cuda:7' is not available\. Use one of: cpu, cuda:0, cuda:1\."):
        choose("cuda:7")


def test_without_a_card_the_choice_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pellucid.device.hardware._found", lambda: CARDS[:1])
    assert choose("auto").name == "cpu"
    with pytest.raises(DeviceUnavailable, match="Use one of: cpu"):
        choose("cuda")


def test_primitives_are_made_once() -> None:
    assert primitives(choose("cpu")) is primitives(choose("cpu"))


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import pellucid.device", {"warp", "cupy", "scipy", "rich"}),
        ("from pellucid.device import *; primitives(choose('cpu'))", {"warp", "cupy"}),
    ],
)
def test_imports_stay_light(statement: str, absent: set[str]) -> None:
    code = f"import sys; {statement}; print(*({absent!r} & set(sys.modules)))"
    done = run(code)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_warp_starts_without_a_word() -> None:
    code = "from pellucid.device import devices; devices()"
    done = run(code)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("files", "environment", "count"),
    [
        ((), {}, 0),
        (("nvidiactl", "nvidia-uvm", "nvidia-caps"), {}, 0),
        (("nvidia0", "nvidia1", "nvidiactl"), {}, 2),
        (("nvidia0", "nvidia1"), {"CUDA_VISIBLE_DEVICES": "1"}, 1),
        (("nvidia0", "nvidia1"), {"CUDA_VISIBLE_DEVICES": ""}, 0),
        (("nvidia0", "nvidia1"), {"CUDA_VISIBLE_DEVICES": "0,-1,1"}, 1),
        ((), {"CUDA_VISIBLE_DEVICES": "0"}, 0),
        (("dxg",), {}, 1),
    ],
)
def test_gpus_are_counted_without_a_driver(
    tmp_path: Path, files: tuple[str, ...], environment: dict[str, str], count: int
) -> None:
    (tmp_path / "dev").mkdir()
    for name in files:
        (tmp_path / "dev" / name).touch()
    assert hardware.count_gpus(tmp_path, environment) == count
