"""bioimage.io's description of a network: ``bioimageio.yaml``, formats 0.4 and 0.5.

Here: Manifest, read_manifest; the network's own test tensors.
Not here: what the transforms do (transforms), the ONNX file that it names (onnx_file).

Nothing in it is executed, and every file that it names must be in its folder.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from pellucid.box import Shape, triple
from pellucid.errors import Corrupted, InvalidInput, MissingPackage, NotFound
from pellucid.formats.local_files import check_allowed, open_local
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.transforms import ValueTransform

NAMES = ("bioimageio.yaml", "rdf.yaml", "model.yaml")
MAX_BYTES = 2**18
"""Of a description. PyYAML reads a hundred kilobytes a second."""
MAX_EXPANDED = 2**20
MAX_TEST_VALUES = 2**28
NUMBERS = "biuf"
"""Kinds of NumPy's types."""
HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
LETTERS = {"batch": "b", "channel": "c"}
NOT_VALUES = ("axes", "axis", "mode", "reference_tensor")
SAME = {"fixed_zero_mean_unit_variance": "zero_mean_unit_variance"}
"""Names of format 0.5 for what format 0.4 has under another."""


@dataclass(frozen=True)
class Manifest:
    """model: the ONNX file. axes, output_axes: a letter each. halo: (z, y, x), which the authors found sufficient.
    test_inputs, test_outputs: files with arrays, or none."""

    path: Path
    model: Path
    axes: str
    output_axes: str
    halo: Shape | None
    preprocess: tuple[ValueTransform, ...]
    postprocess: tuple[ValueTransform, ...]
    test_inputs: tuple[Path, ...] = ()
    test_outputs: tuple[Path, ...] = ()


def find_manifest(path: Path) -> Path | None:
    """The manifest that a path means: itself, or the one in a folder; None for a network without one."""
    if path.is_dir():
        found = next((path / name for name in NAMES if (path / name).is_file()), None)
        if found is None:
            raise InvalidInput(f"The folder {path} contains no bioimageio.yaml.", remedy="Pass the .onnx file itself.")
        return found
    return path if path.suffix.lower() in (".yaml", ".yml") else None


def read_manifest(path: Path) -> Manifest:
    """The facts of a manifest that matter here."""
    document = _document(path)
    try:
        return _manifest(path, document)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise Corrupted(str(path), f"it is not a description of a network ({error!r})") from error


def read_test_tensor(path: Path) -> Voxels:
    """A test tensor; pickled objects in it are refused, and its size is checked before it is read."""
    try:
        shape, dtype = _header(path)
        tensor = np.load(path, mmap_mode="r", allow_pickle=False)
    # Python's parser reports a header that is nested too deep as a lack of memory.
    except (ValueError, OSError, EOFError, KeyError, SyntaxError, TokenError, MemoryError, RecursionError) as error:
        raise Corrupted(str(path), "it is not a complete array of numbers") from error
    if dtype.kind not in NUMBERS or prod(shape) > MAX_TEST_VALUES:
        raise Corrupted(str(path), f"it is not an array of at most {MAX_TEST_VALUES:,} numbers")
    return np.asarray(tensor)


def _header(path: Path) -> tuple[tuple[int, ...], "np.dtype[Any]"]:
    """NumPy itself takes lengths such as True and -1, and fails in many ways later."""
    with os.fdopen(open_local(path), "rb") as file:
        shape, _, dtype = HEADERS[npy_format.read_magic(file)](file)
    if any(type(length) is not int or length < 1 for length in shape):
        raise ValueError(f"the shape {shape} contains numbers that are not positive whole numbers")
    return shape, dtype


def _document(path: Path) -> Mapping[str, Any]:
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingPackage("pyyaml", "infer") from None
    if not path.is_file():
        raise NotFound(str(path))
    with os.fdopen(open_local(path), "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Corrupted(str(path), f"a description of a network has at most {MAX_BYTES:,} bytes")
    try:
        size = _expanded_size(yaml.compose(content, Loader=yaml.SafeLoader))
        if size > MAX_EXPANDED:
            raise Corrupted(str(path), f"its aliases expand to more than {MAX_EXPANDED:,} characters")
        document = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Corrupted(str(path), "it is not valid YAML") from error
    if not isinstance(document, Mapping):
        raise Corrupted(str(path), "it is not a description of a network")
    return document


def _expanded_size(root: Any) -> int:
    """Characters and nodes of a YAML document with every alias written out: as long as it becomes when it is merged or
    shown in a message. A node that contains itself is an error."""
    sizes: dict[int, int | None] = {}

    def size_of(node: Any) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = None
            value = node.value if node is not None else ""
            parts = (part for one in value for part in (one if isinstance(one, tuple) else (one,)))
            sizes[id(node)] = 1 + (len(value) if isinstance(value, str) else sum(map(size_of, parts)))
        if (size := sizes[id(node)]) is None:
            raise ValueError("a node contains itself")
        return size

    return size_of(root)


def _manifest(path: Path, document: Mapping[str, Any]) -> Manifest:
    weights = document["weights"]
    if "onnx" not in weights:
        raise InvalidInput(
            f"{path} has no ONNX weights, but {', '.join(map(str, weights))}.",
            remedy="Use a network that is published as ONNX, or export it.",
        )
    inputs, outputs = document["inputs"], document["outputs"]
    return Manifest(
        path=path,
        model=_file(path, weights["onnx"]),
        axes=_axes(inputs[0]["axes"]),
        output_axes=_axes(outputs[0]["axes"]),
        halo=_halo(outputs[0]),
        preprocess=_transforms(inputs[0].get("preprocessing") or ()),
        postprocess=_transforms(outputs[0].get("postprocessing") or ()),
        test_inputs=_tests(path, inputs, document.get("test_inputs")),
        test_outputs=_tests(path, outputs, document.get("test_outputs")),
    )


def _file(path: Path, entry: Mapping[str, Any] | str) -> Path:
    """A file in the folder of the manifest, with the checksum that the manifest states."""
    named = str(entry if isinstance(entry, str) else entry["source"])
    folder = path.resolve().parent
    place = (folder / named).resolve()
    if "://" in named or folder not in place.parents:
        raise InvalidInput(
            f"{path} refers to {named!r}, which is outside its folder.",
            remedy="Download the whole network, with all of its files in one folder.",
        )
    if not check_allowed(place, path).is_file():
        raise NotFound(str(place))
    expected = entry.get("sha256") if isinstance(entry, Mapping) else None
    if expected:
        with place.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise Corrupted(str(place), f"its checksum is not the one in {path.name}")
    return place


def _tests(path: Path, tensors: list[Any], listed: list[Any] | None) -> tuple[Path, ...]:
    """Format 0.4 lists files, format 0.5 has one for each tensor."""
    entries = listed or [one["test_tensor"] for one in tensors if one.get("test_tensor")]
    return tuple(_file(path, one) for one in entries)


def _axes(axes: Any) -> str:
    """``bcyx``, or a list of axes with a type and an id.

    >>> _axes([{"type": "batch"}, {"type": "channel"}, {"type": "space", "id": "y"}, {"type": "space", "id": "x"}])
    'bcyx'
    """
    if isinstance(axes, str):
        return axes
    return "".join(LETTERS.get(one["type"]) or str(one["id"]) for one in axes)


def _halo(output: Mapping[str, Any]) -> Shape | None:
    axes = output["axes"]
    if isinstance(axes, str):
        widths = dict(zip(axes, output.get("halo") or (), strict=False))
    else:
        widths = {one.get("id"): one.get("halo") or 0 for one in axes if one["type"] == "space"}
    if not any(widths.values()):
        return None
    return triple(int(widths.get(letter) or 0) for letter in "zyx")


def _transforms(steps: Sequence[Mapping[str, Any]]) -> tuple[ValueTransform, ...]:
    made = []
    for step in steps:
        name = str(step.get("id") or step["name"])
        options = {key: value for key, value in (step.get("kwargs") or {}).items() if key not in NOT_VALUES}
        made.append(ValueTransform.make(SAME.get(name, name), options))
    return tuple(made)
