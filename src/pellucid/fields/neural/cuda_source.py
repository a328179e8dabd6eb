"""CUDA source for neural fields.

Here: evaluation_source, and where the toolkit's headers are.
Not here: compiling it (its users). The source itself lies beside this module.
"""

import os
from pathlib import Path


def evaluation_source() -> str:
    """What encodes and decodes points; to be compiled with GRIDS and INPUTS defined."""
    return Path(__file__).with_name("evaluation.cu").read_text()


def header_options() -> tuple[str, ...]:
    """Options that name the folders of the toolkit's headers, which the source includes."""
    folders = [os.environ.get(name, "") for name in ("CUDA_PATH", "CUDA_HOME")]
    found = [Path(folder) / "include" for folder in (*folders, "/usr/local/cuda") if folder]
    return tuple(f"-I{folder}" for folder in found if folder.is_dir())
