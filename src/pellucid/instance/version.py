"""The version of Pellucid.

Here: PRODUCT, its version as it was installed.
Not here: the version of the messages (protocol.shared_types).
"""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("pellucid")
    except PackageNotFoundError:  # Run from its sources.
        return "source"


PRODUCT = _installed()
