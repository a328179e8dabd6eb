"""The precompiled headers of Warp's CPU compiler, kept beside the compiled kernels.

Here: PrecompiledHeaders, which gives a compiling thread what earlier processes compiled, and keeps what it compiles.
Not here: compiled kernels, which Warp itself keeps.

Warp compiles its headers anew in every thread that compiles a kernel, which takes seconds; a small kernel then takes a
fifth of one. A file is copied into the folder of a thread, and appears in the shared folder under its name only when it
is whole. Warp replaces a file that it cannot use.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

FILES = "*.pch"


class PrecompiledHeaders:
    """Shared by processes with the same Warp on the same kind of processor; publish() while nothing compiles.

    shared: its folder, asked for when something is first compiled.
    """

    def __init__(self, shared: Callable[[], Path], folder_of_thread: Callable[[], str | None]) -> None:
        self._shared = cache(shared)
        self._folder_of_thread = folder_of_thread
        self._folders: set[Path] = set()

    def folder(self) -> str | None:
        """The folder of this thread, with the headers that are there already."""
        name = self._folder_of_thread()
        if name is not None:
            self._folders.add(Path(name))
            _copy_missing(self._shared(), Path(name))
        return name

    def publish(self) -> None:
        """Keep what was compiled since."""
        for folder in self._folders:
            _copy_missing(folder, self._shared())
        self._folders.clear()


def _copy_missing(source: Path, target: Path) -> None:
    """Copy the files that the target does not have in this version. A folder that is full or closed stays as it is."""
    with suppress(OSError):
        for file in source.glob(FILES):
            copy = target / file.name
            if not copy.exists() or copy.stat().st_mtime_ns != file.stat().st_mtime_ns:
                target.mkdir(parents=True, exist_ok=True)
                _copy(file, copy)


def _copy(file: Path, copy: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=copy.parent, prefix=".", delete=False) as part:
        try:
            shutil.copyfile(file, part.name)
            shutil.copystat(file, part.name)
            Path(part.name).replace(copy)
        except OSError:
            Path(part.name).unlink(missing_ok=True)
            raise


def install(warp: Any, kernel_folder: Path) -> PrecompiledHeaders | None:
    """Make Warp use the shared headers; None where its version has no folder for them."""
    try:
        runtime = warp._src.context.runtime
        found = runtime.get_clang_pch_dir
    except AttributeError:
        return None
    headers = PrecompiledHeaders(lambda: kernel_folder / f"headers-{_key(warp)}", found)
    runtime.get_clang_pch_dir = headers.folder
    return headers


def _key(warp: Any) -> str:
    """Differs where a header could: by version and place of Warp, the times of its files, and the processor."""
    native = Path(warp.__file__).parent / "native"
    times = sorted((entry.name, entry.stat().st_mtime_ns) for entry in os.scandir(native))
    return hashlib.sha256(repr((warp.__version__, str(native), times, _processor())).encode()).hexdigest()[:12]


def _processor() -> str:
    """What the processor can do; empty where the system does not say."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return ""
