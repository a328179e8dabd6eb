"""Making text from files safe to show.

Here: printable(), for everything that is printed, logged or sent to a page; PrintableFormatter, for logs; size_text().
Not here: errors (errors, which applies it to both of their sentences), what a name means to a file system.

A name, a unit or an attribute may contain control characters, letters that turn the direction of a line, or half of a
letter that no program can encode.
"""

import logging
import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""The same text with unsafe characters spelled out. Line feeds and tabs stay.

    >>> printable("plain Å"), printable("red \x1b[31m"), printable("bad name \udcff")
    ('plain Å', 'red \\x1b[31m', 'bad name \\xff')
    """
    return _UNSAFE.sub(_spelled, text)


def _spelled(found: "re.Match[str]") -> str:
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:  # A byte of a name that is not UTF-8, as Python carries it.
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def size_text(count: int) -> str:
    """A number of bytes as people read it.

    >>> size_text(1536), size_text(12)
    ('1.5 KiB', '12 bytes')
    """
    for unit, bytes_ in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= bytes_:
            return f"{count / bytes_:,.1f} {unit}"
    return f"{count} bytes"


class PrintableFormatter(logging.Formatter):
    """Lines of a log, in which names of files occur."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
