"""The entry points of this checkout, where it is not installed, in this process and those that it starts.

Here: with_entry_points.
Not here: what they are (pyproject.toml).
"""

import os
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def with_entry_points(folder: Path) -> None:
    """Write them as an installed package would have them, and put the folder on the path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    place = folder / f"pellucid-{project['version']}.dist-info"
    place.mkdir(parents=True, exist_ok=True)
    lines = []
    for group, points in project.get("entry-points", {}).items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (place / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pellucid\nVersion: {project['version']}\n")
    paths = [str(folder), str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    sys.path[:0] = paths[:2]
