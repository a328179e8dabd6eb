"""The folder of what PyTorch compiles.

Here: use_private_torch_cache, for packages that import PyTorch.
Not here: PyTorch.

PyTorch runs what it finds there. By default it is /tmp/torchinductor_NAME, which another user can create first.
"""

import os
from contextlib import suppress

from pellucid.settings import current, make_private_folder

VARIABLE = "TORCHINDUCTOR_CACHE_DIR"


def use_private_torch_cache() -> None:
    """Have PyTorch use a folder in the user's cache, unless the environment names one."""
    if VARIABLE not in os.environ:
        folder = current().cache_folder / "torch"
        with suppress(OSError):  # A disk that is full or read-only: PyTorch reports it if it compiles.
            make_private_folder(folder)
        os.environ[VARIABLE] = str(folder)
