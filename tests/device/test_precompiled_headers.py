"""The headers of kernels are compiled once, not in every thread of every process."""

import threading
import time
from pathlib import Path

import numpy as np

from pellucid.device import choose, launch, runtime
from pellucid.device.precompiled_headers import PrecompiledHeaders
from tests.contracts.device_kernels import fill

NAME = "builtin.pch"


def headers(shared: Path, own: Path) -> PrecompiledHeaders:
    own.mkdir()
    return PrecompiledHeaders(lambda: shared, lambda: str(own))


def test_what_one_process_compiled_the_next_finds(tmp_path: Path) -> None:
    first, second = (headers(tmp_path / "shared", tmp_path / name) for name in ("first", "second"))
    assert first.folder() == str(tmp_path / "first")
    assert list((tmp_path / "first").iterdir()) == []
    (tmp_path / "first" / NAME).write_bytes(b"compiled")
    first.publish()
    assert second.folder() == str(tmp_path / "second")
    assert (tmp_path / "second" / NAME).read_bytes() == b"compiled"
    assert [path.name for path in (tmp_path / "shared").iterdir()] == [NAME]


def test_a_file_that_could_not_be_used_is_replaced_by_the_one_compiled_instead(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / NAME).write_bytes(b"damaged")
    one = headers(tmp_path / "shared", tmp_path / "own")
    one.folder()
    (tmp_path / "own" / NAME).unlink()
    (tmp_path / "own" / NAME).write_bytes(b"compiled")
    one.publish()
    assert (tmp_path / "shared" / NAME).read_bytes() == b"compiled"


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("a file")
    one = headers(tmp_path / "shared", tmp_path / "own")
    assert one.folder() == str(tmp_path / "own")
    (tmp_path / "own" / NAME).write_bytes(b"compiled")
    one.publish()
    assert (tmp_path / "shared").read_text() == "a file"


def test_a_thread_that_compiles_uses_and_keeps_them() -> None:
    installed = runtime.start()._src.context.runtime.get_clang_pch_dir.__self__
    assert isinstance(installed, PrecompiledHeaders)
    number, found = time.time_ns() % 2**31, np.zeros(4, np.int32)
    kernel = fill(number)  # Compiled by nobody yet.
    thread = threading.Thread(target=launch, args=(kernel, 4), kwargs={"outputs": [found], "device": choose("cpu")})
    thread.start()
    thread.join()
    assert found.tolist() == [number] * 4
    assert list(installed._shared().glob("*.pch"))
