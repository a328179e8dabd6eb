"""tensorstore's errors in our words.

Here: translated, which turns what tensorstore raises into our errors; is_out_of_range, of one of them.
Not here: calling it (tensorstore_backend).

tensorstore raises errors of Python's own types with nothing but a text: a status, a colon and words for users. This is
the only module that looks into those texts.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pellucid.errors import (
    Corrupted,
    DiskFull,
    InvalidInput,
    NotFound,
    NotWritable,
    PellucidError,
    UnknownCodec,
    Unreadable,
)

_REFUSED = ("PERMISSION_DENIED", "UNAUTHENTICATED")
_UNREACHABLE = ("ABORTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "CANCELLED")
_CHECK_KEYS = (
    "the server denied access; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the permissions of the bucket"
)
_NO_ANSWER = "the server does not respond"


@contextmanager
def translated(path: str, *, is_writing: bool = False) -> Iterator[None]:
    """Turn what tensorstore raises into our errors."""
    try:
        yield
    except PellucidError:
        raise
    except (ValueError, RuntimeError, NotImplementedError, OSError, IndexError) as error:
        raise translate(str(error), path, is_writing=is_writing) from error


def translate(text: str, path: str, *, is_writing: bool = False) -> PellucidError:  # noqa: PLR0911
    """Our error for a text of tensorstore, which starts with a status and says the rest in words."""
    status, _, rest = text.partition(":")
    why = _shortened(rest or text)
    if "RESOURCE_EXHAUSTED" in status or "No space left" in text or "quota" in text.lower():
        return DiskFull(path)
    if status in _REFUSED or "HTTP response code: 403" in text or "HTTP response code: 401" in text:
        local = "://" not in path
        reason = why if local else _CHECK_KEYS
        return NotWritable(path, reason) if is_writing else Unreadable(path, reason)
    if "NoSuchBucket" in text or status == "NOT_FOUND":
        return NotFound(path)
    if status in _UNREACHABLE:
        return NotWritable(path, _NO_ANSWER) if is_writing else Unreadable(path, f"{_NO_ANSWER} ({why})")
    if "Invalid S3 bucket name" in text:
        return InvalidInput(
            f"{path} has an invalid bucket name.",
            remedy="Use 3 to 63 lower-case letters, digits, dots and hyphens.",
        )
    codec = re.search(r'"([\w-]+)" is not registered', text)
    if codec:
        return UnknownCodec(path, codec.group(1))
    if is_writing and status != "DATA_LOSS":
        return NotWritable(path, why)
    return Corrupted(path, why)


def is_out_of_range(error: PellucidError) -> bool:
    """Whether tensorstore looked for a chunk outside of the bytes that a server sent."""
    return "is not valid for value of size" in str(error.__cause__)


def _shortened(text: str) -> str:
    """Without the full specification that tensorstore appends."""
    return re.sub(r" \[\w+='.*", "", text, flags=re.DOTALL).strip().rstrip(".")
