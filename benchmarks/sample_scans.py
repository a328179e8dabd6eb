"""Where the scans are that benchmarks read: they are too large for the repository.

Here: their folder.
Not here: what a benchmark uses where they are absent (each says so itself).
"""

import os
from pathlib import Path

SHARED = Path(os.environ.get("TEST_DATA_FOLDER", Path(__file__).parents[2] / "shared" / "data"))
