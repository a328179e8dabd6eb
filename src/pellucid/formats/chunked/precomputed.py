"""Neuroglancer's precomputed volumes, read only, local or on S3.

Here: the info document, and one level per scale.
Not here: chunks and their encodings (tensorstore_backend), meshes and skeletons.
"""

from pellucid.errors import Corrupted, NotFound, NotWritable, UnknownCodec
from pellucid.formats.chunked import tensorstore_backend
from pellucid.formats.chunked.axes import Axes
from pellucid.formats.chunked.levels import LevelReader, StoredLevel
from pellucid.formats.chunked.store import Json, Store, inner_path, open_store, read_json
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Reader, Spacing, Writer

_AXES = Axes(("c", "z", "y", "x"))
_ENCODINGS = ("raw", "compressed_segmentation", "jpeg", "png")


def open_reader(location: Location) -> Reader:
    """Open all scales, the finest first as the document has them; resolutions are in nanometres."""
    store = open_store(location)
    document = read_json(store, "info")
    if document is None:
        raise NotFound(store.name)
    try:
        spacings = [_spacing(scale) for scale in document["scales"]]
        encodings = [str(scale["encoding"]) for scale in document["scales"]]
        for scale in document["scales"]:
            inner_path(store.name, str(scale["key"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Corrupted(f"{store.name}/info", f"its scales are not valid ({error!r})") from error
    if not spacings:
        raise Corrupted(f"{store.name}/info", "it lists no scales")
    levels = [_open_scale(store, level, encoding) for level, encoding in enumerate(encodings)]
    return LevelReader(store.name, levels, spacings, "nm")


def _spacing(scale: Json) -> Spacing:
    x, y, z = (float(number) for number in scale["resolution"])
    return (z, y, x)


def _open_scale(store: Store, level: int, encoding: str) -> StoredLevel:
    if encoding not in _ENCODINGS:
        raise UnknownCodec(store.name, encoding, _ENCODINGS)
    spec: Json = {"driver": "neuroglancer_precomputed", "scale_index": level}
    array = tensorstore_backend.open_array(store, spec, is_reversed=True)
    return StoredLevel(array, _AXES, tensorstore_backend.read_chunk_shape(array), array.dtype, encoding)


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    """Precomputed volumes are only read."""
    del layout, resume
    raise NotWritable(location.path, "precomputed is read-only", ("n5", "zarr"))
