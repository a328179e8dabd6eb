"""Files that have no name until they are complete.

Here: AtomicFile, which a kill at any moment removes, and which gets its name in one step.
Not here: what is written into it.
"""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from pellucid.errors import NotWritable, OutputExists


class AtomicFile:
    """A new file in the folder of its output, written through ``file``.

    Where the filesystem has no files without a name (NFS), it is called ``NAME.partial`` until it is published.
    """

    def __init__(self, output: Path) -> None:
        self._output = output
        self._partial = output.absolute().with_name(f"{output.name}.partial")
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            self.file = os.fdopen(self._open(), "r+b")
        except OSError as error:
            raise NotWritable(str(output), error.strerror or str(error)) from error

    def _open(self) -> int:
        self._has_name = False
        with suppress(OSError):
            return os.open(self._output.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
        self._has_name = True
        return os.open(self._partial, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC, 0o666)

    def publish(self) -> None:
        """Give the file its name, unless another file has got it meanwhile."""
        self.file.flush()
        source = self._partial if self._has_name else Path(f"/proc/self/fd/{self.file.fileno()}")
        folder = os.open(self._output.parent, os.O_PATH | os.O_CLOEXEC)
        try:
            # Only with a folder given does Python make the call that follows the link to the open file.
            os.link(source, self._output.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        except FileExistsError as error:
            raise OutputExists(str(self._output)) from error
        finally:
            os.close(folder)

    def __enter__(self) -> "AtomicFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.file.close()
        if self._has_name:
            self._partial.unlink(missing_ok=True)
