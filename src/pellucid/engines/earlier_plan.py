"""What an interrupted job had decided, so that it continues with the same blocks whatever memory there is now.

Here: EarlierPlan.
Not here: which blocks are finished (markers), what is decided (stages, infer).
"""

import json
from pathlib import Path
from typing import Any


class EarlierPlan:
    """Decisions by name, in the folder of an unfinished output; they go with the folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "plan"

    def read(self, name: str) -> Any:
        """What was decided; None where nothing was, or where a crash cut it short."""
        return self._read().get(name)

    def write(self, name: str, value: Any) -> None:
        """value: anything that JSON can hold."""
        self._path.write_text(json.dumps({**self._read(), name: value}))

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
