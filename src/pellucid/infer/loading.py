"""Loading a network from an ONNX file, or from bioimage.io's description or package of one.

Here: load_network, which tries a network before it is used, and keeps the last ones.
Not here: what is found out about it (network_files.network).
"""

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pellucid.infer.network_files.manifest import Manifest, find_manifest, read_manifest
from pellucid.infer.network_files.network import Network, NetworkForm, examine_network
from pellucid.infer.network_files.onnx_file import digest_of, read_model
from pellucid.infer.network_files.package import is_package, unpack
from pellucid.infer.reproduction import check_reproduction

MAX_LOADED = 4


class _Loaded:
    """The networks that were loaded last: trying one takes longer than reading it."""

    by_key: ClassVar[dict[tuple[str, str, NetworkForm], Network]] = {}


def load_network(path: str | Path, form: NetworkForm | None = None) -> Network:
    """The network in an ONNX file, or the one that ``bioimageio.yaml`` (or its folder, or its ZIP file) describes.

    What the file does not state is in the form; what the form states overrides a description. A described network must
    reproduce its own test tensors.
    """
    if is_package(Path(path)):
        with tempfile.TemporaryDirectory() as folder:
            network = load_network(unpack(Path(path), Path(folder)), form)
        return replace(network, path=str(path))
    form = form or NetworkForm()
    described = find_manifest(Path(path))
    manifest = read_manifest(described) if described else None
    model = read_model(manifest.model if manifest else Path(path))
    complete = _completed(form, manifest) if manifest else form
    key = (str(path), hashlib.sha256(f"{digest_of(model)} {manifest}".encode()).hexdigest(), complete)
    if key not in _Loaded.by_key:
        if len(_Loaded.by_key) >= MAX_LOADED:
            _Loaded.by_key.clear()
        network = examine_network(str(path), model, complete)
        if manifest:
            described_only = replace(network, form=_completed(NetworkForm(), manifest))
            check_reproduction(described_only, manifest)
        _Loaded.by_key[key] = network
    return _Loaded.by_key[key]


def _completed(form: NetworkForm, manifest: Manifest) -> NetworkForm:
    return replace(
        form,
        axes=form.axes or manifest.axes,
        output_axes=form.output_axes or manifest.output_axes,
        preprocess=form.preprocess or manifest.preprocess,
        postprocess=form.postprocess or manifest.postprocess,
        stated_halo=manifest.halo,
    )
