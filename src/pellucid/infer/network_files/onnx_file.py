"""Reading an ONNX file that may be damaged or malicious.

Here: read_model; refusing pickles, external data outside the folder, and what is no complete model.
Not here: what the graph computes (graph), running it (runtime).
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.errors import Corrupted, EmptyFile, InvalidInput, MissingPackage, NotFound, Unreadable
from pellucid.formats.local_files import check_allowed, open_local

if TYPE_CHECKING:
    import onnx

MAX_MODEL_BYTES = 2**31 - 1
"""Of one protobuf message; larger networks have external data."""
PICKLE_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
"""PyTorch's zip files, and pickles."""
LENGTHS = ("blocksize", "dilations", "group", "kernel_shape", "output_padding", "pads", "strides")
"""Attributes of operators."""
MAX_LENGTH = 2**20
DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft")


def onnx_package() -> Any:
    try:
        import onnx
    except ModuleNotFoundError:
        raise MissingPackage("onnx", "infer") from None
    return onnx


def read_model(path: Path) -> "onnx.ModelProto":
    """The model in a file, with its external data, which must be in the same folder."""
    onnx = onnx_package()
    content = read_bytes(path)
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # Protobuf raises a class of its own, which depends on how it was built.
        raise Corrupted(str(path), "it is not a complete ONNX model") from error
    if not model.graph.input or not model.graph.output or not model.graph.node:
        raise Corrupted(str(path), "it is not a complete ONNX model")
    _check_domains(path, model)
    _check_attributes(path, model)
    if any(list(map(_check_external(path), tensors(model)))):
        try:
            onnx.load_external_data_for_model(model, str(path.resolve().parent))
        except (ValueError, OSError, onnx.checker.ValidationError) as error:
            raise Corrupted(str(path), "its weights in another file cannot be read") from error
    return model


def read_bytes(path: Path) -> bytes:
    """The content of a network file; a pickle is refused, because loading it can run any code."""
    if not path.is_file():
        raise NotFound(str(path))
    try:
        with os.fdopen(open_local(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_MODEL_BYTES:
                limit = f"an ONNX file has at most {MAX_MODEL_BYTES:,} bytes, and this one has {size:,}"
                raise Corrupted(str(path), limit)
            content = file.read()
    except OSError as error:
        raise Unreadable(str(path), error.strerror or str(error)) from error
    if not content:
        raise EmptyFile(str(path))
    if content.startswith(PICKLE_STARTS):
        raise InvalidInput(
            f"{path} is a PyTorch file or a pickle, and loading it can run any code.",
            remedy="Export the network with torch.onnx.export, and use the .onnx file.",
        )
    return content


def digest_of(model: "onnx.ModelProto") -> str:
    """32 hexadecimal digits that change with the network, wherever its file is."""
    return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()[:32]


def tensors(model: "onnx.ModelProto") -> Iterator["onnx.TensorProto"]:
    """Every constant of a network, of the graphs inside it and of its functions."""
    for graph in graphs(model.graph):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
    for node in nodes(model):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                yield from (sparse.values, sparse.indices)


def nodes(model: "onnx.ModelProto") -> Iterator["onnx.NodeProto"]:
    """Every node of a network, of the graphs inside it and of its functions."""
    for graph in graphs(model.graph):
        yield from graph.node
    for function in model.functions:
        for node in function.node:
            yield node
            for inner in _graphs_of(node):
                for graph in graphs(inner):
                    yield from graph.node


def graphs(graph: "onnx.GraphProto") -> Iterator["onnx.GraphProto"]:
    """A graph and the graphs inside it."""
    yield graph
    for node in graph.node:
        for inner in _graphs_of(node):
            yield from graphs(inner)


def _graphs_of(node: "onnx.NodeProto") -> Iterator["onnx.GraphProto"]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _check_attributes(path: Path, model: "onnx.ModelProto") -> None:
    """ONNX Runtime computes with them before it checks them, and some end the process."""
    for node in nodes(model):
        for attribute in node.attribute:
            largest = max((abs(number) for number in (attribute.i, *attribute.ints)), default=0)
            if attribute.name in LENGTHS and largest > MAX_LENGTH:
                raise InvalidInput(
                    f"{attribute.name} of an operator {node.op_type!r} of {path} is {largest}.",
                    remedy=f"Use a network whose lengths are at most {MAX_LENGTH:,} voxels.",
                )


def _check_domains(path: Path, model: "onnx.ModelProto") -> None:
    foreign = sorted({node.domain for node in model.graph.node} - set(DOMAINS))
    if foreign:
        raise InvalidInput(
            f"{path} uses operators of {foreign[0]!r}, which ONNX Runtime does not have.",
            remedy="Export the network with standard ONNX operators.",
        )


def _check_external(path: Path) -> Any:
    """A function that says whether a tensor is in another file, and refuses one outside the network's folder."""
    folder = path.resolve().parent

    def check(tensor: "onnx.TensorProto") -> bool:
        if tensor.data_location != tensor.EXTERNAL:
            return False
        named = {entry.key: entry.value for entry in tensor.external_data}.get("location", "")
        is_name = bool(named) and "\0" not in named
        place = (folder / named).resolve() if is_name else folder
        if folder not in place.parents:
            raise InvalidInput(
                f"{path} refers to {named!r}, which is outside its folder.",
                remedy="Put the file of its weights into the folder of the network, and export it again.",
            )
        if not check_allowed(place, path).is_file():
            raise NotFound(str(place))
        return True

    return check
