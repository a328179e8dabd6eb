"""Warp, started once per process: quietly, and with our folder for compiled kernels.

Here: start(), stream(), the lock around everything in Warp that is not safe in threads, what is said while it compiles.
Not here: launching (kernel_launch), devices (hardware), what speeds up compiling (precompiled_headers).
"""

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pellucid import progress, settings
from pellucid.device import kernel_parsing, precompiled_headers
from pellucid.device.precompiled_headers import PrecompiledHeaders
from pellucid.errors import NotWritable

LOCK = threading.RLock()
"""Held while Warp starts, compiles, loads or packs arguments: it has no lock of its own there."""

SAY_AFTER_S = 1.0
"""A kernel that comes from the cache loads faster than this, and nothing is said."""

EXPECTED_WITHOUT_GPU = b"Could not find or load the NVIDIA CUDA driver"


class _State:
    warp: Any = None
    headers: PrecompiledHeaders | None = None
    on_compiling: Callable[[], None] | None = None


def start() -> Any:
    """The ``warp`` module, initialised. The kernel folder is that of the settings at the first call."""
    with LOCK:
        if _State.warp is None:
            _State.warp = _initialise(settings.current().kernel_folder)
        return _State.warp


def stream(device_name: str) -> Any:
    """Warp's stream of a CUDA device. The first look at one makes it, and two first looks at once would crash."""
    with LOCK:
        return start().get_stream(device_name)


def _initialise(kernel_folder: Path) -> Any:
    import warp

    _make_folder(kernel_folder)
    warp.config.kernel_cache_dir = str(kernel_folder)
    if hasattr(warp.config, "log_level"):
        warp.config.log_level = warp.LOG_WARNING
    else:  # Warp before 1.13
        warp.config.quiet = True
    with _without_stderr_lines(EXPECTED_WITHOUT_GPU):
        warp.init()
    kernel_parsing.install(warp)
    _State.headers = precompiled_headers.install(warp, kernel_folder)
    return warp


def _make_folder(folder: Path) -> None:
    try:
        settings.make_private_folder(folder)
    except OSError as error:
        raise NotWritable(str(folder), error.strerror or str(error)) from error


@contextmanager
def _without_stderr_lines(expected: bytes) -> Iterator[None]:
    """Hold file descriptor 2 back, then let through what was written to it, less the lines that hold ``expected``.

    The C++ side writes its warning there, where Python cannot filter it.
    """
    sys.stderr.flush()
    with tempfile.TemporaryFile() as held:
        before = os.dup(2)
        try:
            os.dup2(held.fileno(), 2)
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            held.seek(0)
            for line in held:
                if expected not in line:
                    os.write(2, line)


def on_compiling(callback: Callable[[], None] | None) -> None:
    """Call this whenever a kernel takes long to compile, from a thread of its own; None calls nothing any more."""
    _State.on_compiling = callback


@contextmanager
def compile_notice(kernel_name: str, device_name: str, after_s: float = SAY_AFTER_S) -> Iterator[None]:
    """Tell the user who waits why, if the block takes long. Nothing compiles when it ends: LOCK is held."""
    folder = settings.current().kernel_folder
    text = f"Compiling the kernel {kernel_name} for {device_name}. It is cached in {folder}."

    def tell() -> None:
        if _State.on_compiling is not None:
            _State.on_compiling()
        progress.note(text)

    timer = threading.Timer(after_s, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if _State.headers is not None:
            _State.headers.publish()


def _after_fork() -> None:
    # Another thread of the parent may have held it.
    global LOCK  # noqa: PLW0603
    LOCK = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
