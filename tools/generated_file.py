"""Files that a program writes into the repository.

Here: update: write such a file, or with --check see whether it is up to date.
Not here: what is in them (generate_*).
"""

import sys
from pathlib import Path


def update(target: Path, text: str) -> int:
    """The exit status: 1 for a stale file, with ``--check``; without it, the file is written."""
    if "--check" in sys.argv[1:]:
        if target.exists() and target.read_text() == text:
            return 0
        print(f"{target} is stale. Run python -m tools.{Path(sys.argv[0]).stem}.", file=sys.stderr)  # noqa: T201
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return 0
