"""tensorstore: S3, rare codecs, partial chunks, precomputed.

Here: where tensorstore finds things (local or S3, credentials from the AWS_* environment), RemoteStore, TensorArray.
Not here: its errors (tensorstore_errors), local files of common codecs (chunks, shards), metadata (zarr, n5,
precomputed).
"""

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import tensorstore as ts

from pellucid.errors import InvalidInput, NotFound, NotWritable, Unreadable
from pellucid.formats.chunked.axes import Index
from pellucid.formats.chunked.chunks import core_count
from pellucid.formats.chunked.store import Json, LocalStore, Store, open_store
from pellucid.formats.chunked.tensorstore_errors import translated
from pellucid.formats.local_files import check_folder
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels

# Refused or overloaded servers: seven tries within about five seconds, then say so.
# A server that accepts and then says nothing: so long for one small object, and for a stretch without a single byte.
ANSWER_S = 20.0
RETRIES: Json = {"max_retries": 7, "initial_delay": "100ms", "max_delay": "2s"}

_METADATA = (
    "zarr.json", ".zgroup", ".zattrs", ".zarray", "attributes.json", "info",
    "0/zarr.json", "0/.zarray", "s0/attributes.json",
)  # fmt: skip


class RemoteStore:
    """A prefix of an S3 bucket."""

    def __init__(self, url: str) -> None:
        self.name = url

    def child(self, key: str) -> "RemoteStore":
        return RemoteStore(f"{self.name.rstrip('/')}/{key.strip('/')}")

    def read(self, key: str) -> bytes | None:
        return self._read(key)

    def _read(self, key: str, *, is_writing: bool = False) -> bytes | None:
        with translated(f"{self.name}/{key}", is_writing=is_writing):
            found = answered(self.objects().read(key), f"{self.name}/{key}", is_writing=is_writing)
        return None if found.state == "missing" else bytes(found.value)

    def write(self, key: str, content: bytes) -> None:
        with translated(f"{self.name}/{key}", is_writing=True):
            answered(self.objects().write(key, content), f"{self.name}/{key}", is_writing=True)

    def children(self) -> list[str]:
        names = (key.partition(b"/") for key in self._keys(""))
        return sorted({name.decode() for name, slash, _ in names if slash})

    def remove(self, key: str) -> None:
        # Asked first: some servers keep folders, and fail when asked to delete one as an object.
        is_object = self._read(key, is_writing=True) is not None
        with translated(f"{self.name}/{key}", is_writing=True):
            self.objects().delete_range(_below(f"{key}/")).result()
        if is_object:
            with translated(f"{self.name}/{key}", is_writing=True):
                answered(self.objects().write(key, None), f"{self.name}/{key}", is_writing=True)

    def _keys(self, prefix: str) -> list[bytes]:
        with translated(self.name):
            return list(self.objects().list(_below(prefix)).result())

    def objects(self) -> Any:
        """The prefix as tensorstore's key-value store."""
        return _open_objects(self.name, tuple(sorted(_s3_settings().items())), tensor_context())


@cache
def _open_objects(url: str, settings: tuple[tuple[str, str], ...], context: Any) -> Any:
    # Settings are part of the key: the environment may change between two calls.
    del settings
    return ts.KvStore.open(_remote_spec(url), context=context).result()


def _below(prefix: str) -> Any:
    """All keys that start with a prefix: up to the same prefix with its last letter one further."""
    return ts.KvStore.KeyRange(prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)) if prefix else ts.KvStore.KeyRange()


class TensorArray:
    """An array through tensorstore. Axes as in our own arrays: slowest first, counted from zero."""

    def __init__(self, name: str, view: Any) -> None:
        self.name = name
        self._view = view
        self.shape: Index = tuple(int(n) for n in view.shape)
        self.dtype: np.dtype[Any] = np.dtype(view.dtype.numpy_dtype)

    def read(self, start: Index, stop: Index, out: Voxels) -> None:
        if not (out.flags.aligned and out.flags.writeable and out.dtype.isnative):
            copy = np.empty(out.shape, out.dtype.newbyteorder("="))
            self.read(start, stop, copy)
            out[...] = copy
            return
        with translated(self.name):
            # Writing the store into the caller's array spares the copy that reading into a fresh one would need.
            target = ts.array(out, context=tensor_context())
            target.write(self._view[_slices(start, stop)].translate_to[(0,) * out.ndim]).result()

    def write(self, start: Index, stop: Index, voxels: Voxels) -> None:
        native = np.require(voxels, voxels.dtype.newbyteorder("="), ["ALIGNED"])
        with translated(self.name, is_writing=True):
            self._view[_slices(start, stop)].write(native).result()


def _slices(start: Index, stop: Index) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in zip(start, stop, strict=True))


def open_array(store: Store, spec: Json, *, is_reversed: bool = False) -> TensorArray:
    """Open an array that exists. is_reversed: tensorstore counts its axes fastest first (N5, precomputed)."""
    with translated(store.name):
        opening = ts.open({**spec, "kvstore": kvstore_spec(store)}, open=True, context=tensor_context())
        opened = answered(opening, store.name)
    view = opened.T if is_reversed else opened
    return TensorArray(store.name, view[ts.d[:].translate_to[0]])


def read_chunk_shape(array: TensorArray) -> Index:
    """The piece that is cheapest to read whole."""
    return tuple(int(n) for n in array._view.chunk_layout.read_chunk.shape)


def tensor_context() -> Any:
    """Shared by all arrays: no cache, as many copies at once as cores, no fsync per chunk."""
    # A context remembers the keys that it found in the environment: new keys, new context.
    return _context(
        *(os.environ.get(f"AWS_{name}") for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"))
    )


@cache
def _context(*keys: str | None) -> Any:
    del keys
    # Read by tensorstore when it first asks a server: a transfer that stands still that long is given up and retried.
    os.environ.setdefault("TENSORSTORE_CURL_LOW_SPEED_TIME_SECONDS", f"{ANSWER_S:.0f}")
    os.environ.setdefault("TENSORSTORE_CURL_LOW_SPEED_LIMIT_BYTES", "1")
    cores = core_count()
    return ts.Context(
        {
            "cache_pool": {"total_bytes_limit": 0},
            "data_copy_concurrency": {"limit": cores},
            "file_io_concurrency": {"limit": cores},
            "file_io_sync": False,
        }
    )


def kvstore_spec(store: Store) -> Json:
    """Where tensorstore finds a store."""
    if isinstance(store, LocalStore):
        check_folder(store.folder)
        return {"driver": "file", "path": f"{store.name}/"}
    return _remote_spec(store.name)


def _remote_spec(url: str) -> Json:
    parts = urlsplit(url)
    if not parts.netloc:
        raise InvalidInput("The address s3:// has no bucket.", remedy="Write s3://BUCKET/KEY.")
    settings: Json = dict(_s3_settings())
    credentials = settings.pop("credentials")
    path = parts.path.strip("/")
    return {
        "driver": "s3",
        "bucket": parts.netloc,
        "path": f"{path}/" if path else "",
        "aws_credentials": {"type": credentials},
        "s3_request_retries": RETRIES,
        **settings,
    }


def _s3_settings() -> dict[str, str]:
    """Endpoint, region and kind of credentials, from the variables that other S3 programs read too."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    settings = {"credentials": _credentials(has_endpoint=bool(endpoint))}
    if endpoint:
        settings["endpoint"] = _checked_endpoint(endpoint.rstrip("/"))
    if region or endpoint:
        settings["aws_region"] = region or "us-east-1"
    return settings


def _checked_endpoint(endpoint: str) -> str:
    """The server's address, if it is one."""
    if re.fullmatch(r"https?://[^\s/:]+(:\d+)?(/\S*)?", endpoint, re.IGNORECASE) is None:
        raise InvalidInput(
            f"Invalid server address in AWS_ENDPOINT_URL: {endpoint!r}.",
            remedy="Write it as http://HOST:PORT or https://HOST.",
        )
    return endpoint


def _credentials(*, has_endpoint: bool) -> str:
    """Keys from the environment, else a profile or a machine's role, else none: many buckets are public."""
    if os.environ.get("AWS_ACCESS_KEY_ID"):
        return "environment"
    named = ("AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    shared = Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")).expanduser()
    if any(os.environ.get(name) for name in named) or shared.exists():
        return "default"
    return "anonymous" if has_endpoint or not _is_amazon_machine() else "default"


def _is_amazon_machine() -> bool:
    # Only there does a role answer; elsewhere the question is a wait for no one.
    vendor = Path("/sys/devices/virtual/dmi/id/sys_vendor")
    return vendor.exists() and "Amazon" in vendor.read_text()


def answered(future: Any, path: str, *, is_writing: bool = False) -> Any:
    """The result of a small request, or our error where it does not come in time."""
    try:
        return future.result(timeout=ANSWER_S)
    except TimeoutError as error:
        future.cancel()
        why = f"the server did not respond within {ANSWER_S:g} s"
        raise NotWritable(path, why) if is_writing else Unreadable(path, why) from error


def present_markers(location: Location, markers: Iterable[str]) -> set[str]:
    """Which of the named objects are at a remote location."""
    store = open_store(location)
    return {marker for marker in markers if store.read(marker) is not None}


def remote_fingerprint(location: Location) -> str:
    """Made from the versions (ETags) of the metadata objects: a store has too many chunks to ask for each."""
    store = open_store(location)
    digest = hashlib.blake2b(f"{store.name}".encode(), digest_size=16)
    versions = [_version(store.name, key) for key in _METADATA]
    if not any(versions):
        raise NotFound(store.name)
    digest.update(b"\0".join(versions))
    return digest.hexdigest()


def _version(url: str, key: str) -> bytes:
    with translated(f"{url}/{key}"):
        found = answered(RemoteStore(url).objects().read(key), f"{url}/{key}")
    return b"" if found.state == "missing" else bytes(found.stamp.generation)
