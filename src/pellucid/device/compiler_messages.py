"""What Warp's compilers say of users' code.

Here: compiler_messages, which catches it; fault_in, which finds the line.
Not here: compiling (kernel_launch), what is made of it (rendering.user_shading, cluster.compute.user_kernels).
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def compiler_messages() -> Iterator[Callable[[], str]]:
    """What is written to the standard streams meanwhile: Warp's compilers say only there what is wrong."""
    with tempfile.TemporaryFile("w+") as file:
        kept = {stream: os.dup(stream) for stream in (1, 2)}
        for stream in kept:
            os.dup2(file.fileno(), stream)

        def read() -> str:
            file.seek(0)
            return file.read()

        try:
            yield read
        finally:
            for stream, copy in kept.items():
                os.dup2(copy, stream)
                os.close(copy)


def fault_in(messages: str, name: str) -> tuple[int, str]:
    """The line and the reason of the first error in a text that was compiled under a name; (0, "") without one.

    >>> fault_in("a.cpp:1:2: note\\nsource:3:9: error: expected ';'", "source")
    (3, "expected ';'")
    >>> fault_in("source(4): error: no x", "source")
    (4, 'no x')
    """
    # As clang says it, and as NVRTC does.
    found = re.search(rf"{name}(?::(\d+):\d+|\((\d+)\)): error: (.*)", messages)
    return (int(found[1] or found[2]), found[3]) if found else (0, "")
