"""Commands whose packages come with an extra.

Here: requires_extra.
Not here: the packages of one module (MissingPackage is raised where they are imported).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pellucid.errors import MissingPackage

PACKAGES = {"torch": "torch", "onnx": "onnx", "yaml": "pyyaml"}
"""What is installed, by the name that is imported."""


@contextmanager
def requires_extra(extra: str) -> Iterator[None]:
    """MissingPackage, which names the extra, where the code inside imports a package that is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        raise MissingPackage(PACKAGES[error.name], extra) from None
