"""What is asked of the driver's tool, and what is made of its reply."""

import os
from pathlib import Path

import pytest

from pellucid.device.driver import query_driver
from pellucid.engines.parsl.usage import gpu_use


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An nvidia-smi that writes its arguments beside itself and prints one line for each of two cards."""
    path = tmp_path / "nvidia-smi"
    path.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/arguments"\nprintf "25, 512\\n50, 1024\\n"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return path


def test_the_fields_of_a_card_are_its_values(tool: Path) -> None:
    assert query_driver("utilization.gpu", "memory.used", gpu="1") == ["25", "512"]
    assert (tool.parent / "arguments").read_text().split() == [
        "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits", "--id=1",
    ]  # fmt: skip
    assert query_driver("driver_version") == ["25", "512"]
    assert "--id" not in (tool.parent / "arguments").read_text()


def test_a_worker_reports_the_share_and_the_bytes_of_its_gpu(tool: Path) -> None:
    assert gpu_use("0") == (0.25, 512 * 2**20)


def test_without_the_tool_or_with_another_reply_there_is_nothing(tool: Path) -> None:
    tool.write_text('#!/bin/sh\necho "No devices were found"\n')
    assert gpu_use("0") == (None, 0)
    tool.write_text("#!/bin/sh\nexit 6\n")
    assert query_driver("driver_version") == []
    tool.unlink()
    assert gpu_use("0") == (None, 0)
