"""A file that several volumes read from, and whether it is still open.

Here: ClosableReader.
Not here: volumes (volume, series).
"""

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Header, Reader


class ClosableReader:
    """A Reader that refuses in words when it is used after it was closed."""

    def __init__(self, reader: Reader) -> None:
        self._reader: Reader | None = reader
        self.header: Header = reader.header

    @property
    def reader(self) -> Reader:
        if self._reader is None:
            raise InvalidInput("The volume is closed.", remedy="Open it again, or read before it is closed.")
        return self._reader

    def close(self) -> None:
        """Close it; closing again does nothing."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
