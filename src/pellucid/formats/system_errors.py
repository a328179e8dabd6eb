"""Errors of the operating system when files are written, with a remedy.

Here: system_error.
Not here: the error classes (errors), files that are only read (byte_sources).
"""

import errno

from pellucid.errors import NotWritable, PellucidError, error_named

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def system_error(error: OSError, path: str = "") -> PellucidError:
    """What the operating system refused, as an error that says what to do. path: where the error names no file.

    >>> system_error(OSError(28, "No space left on device", "/data/scan.tif")).what
    'The disk is full: /data/scan.tif could not be written.'
    """
    path = str(error.filename or path or "a file")
    why = error.strerror or str(error) or type(error).__name__
    if error.errno in FULL:
        remedy = "Free some space, or have the quota raised, and try again."
        return error_named("DiskFull", f"The disk is full: {path} could not be written.", remedy)
    if error.errno in CLOSED:
        return NotWritable(path, why)
    remedy = "Check that the disk is mounted and healthy, and try again."
    return PellucidError(f"The operating system could not access {path}: {why}.", remedy=remedy)
