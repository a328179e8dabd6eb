"""Chunk stores in S3 buckets, on a real server."""

import socket
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import (
    Corrupted,
    DiskFull,
    Incomplete,
    InvalidInput,
    NotFound,
    NotWritable,
    PellucidError,
    UnknownCodec,
    UnknownFormat,
    Unreadable,
)
from pellucid.formats import registry
from pellucid.formats.chunked import tensorstore_backend, tensorstore_errors
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from tests.formats.chunk_stores import HALF, SHAPE, layout, open_at, ramp, read, write
from tests.formats.test_precomputed import put_scale
from tests.s3_server import S3Server, free_port

NAMES = ("scan.zarr", "scan.zarr2", "scan.n5")


@pytest.fixture
def few_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorstore_backend, "RETRIES", {"max_retries": 1, "initial_delay": "1ms", "max_delay": "1ms"})


def copy(folder: Path, url: str) -> None:
    """Upload a folder."""
    store = tensorstore_backend.RemoteStore(url)
    for path in folder.rglob("*"):
        if path.is_file():
            store.write(str(path.relative_to(folder)), path.read_bytes())


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd", "lz4", "blosc"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read(name: str, codec: str, s3: S3Server) -> None:
    where = s3.url(f"written-{codec}/{name}")
    voxels = write(where, layout(codec))
    reader = open_at(where)
    assert [(level.shape, level.spacing) for level in reader.header.levels] == [
        (SHAPE, (2.0, 1.0, 0.5)),
        (HALF, (4.0, 2.0, 1.0)),
    ]
    np.testing.assert_array_equal(read(reader), voxels)
    np.testing.assert_array_equal(read(reader, level=1), voxels[::2, ::2, ::2])


@pytest.mark.parametrize("name", NAMES)
def test_the_bucket_holds_the_same_objects_as_a_folder(name: str, s3: S3Server, tmp_path: Path) -> None:
    shard = (8, 16, 16) if name == "scan.zarr" else None
    write(s3.url(f"same/{name}"), layout("zstd", shard=shard))
    voxels = write(tmp_path / name, layout("zstd", shard=shard))
    objects = {path.relative_to(s3.path("same")) for path in s3.path("same").rglob("*") if path.is_file()}
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in objects if name in path.parts} == files
    np.testing.assert_array_equal(read(open_at(s3.path(f"same/{name}"))), voxels)


@pytest.mark.parametrize("name", NAMES)
def test_unfinished_output_is_no_volume(name: str, s3: S3Server) -> None:
    write(s3.url(f"half/{name}"), layout(), is_finished=False)
    with pytest.raises(Incomplete, match="is incomplete"):
        open_at(s3.url(f"half/{name}"))


@pytest.mark.parametrize("name", NAMES)
def test_resume_keeps_and_a_fresh_start_removes(name: str, s3: S3Server) -> None:
    where = Location.parse(s3.url(f"resume/{name}"))
    voxels = write(str(where), layout(), is_finished=False)
    out = np.empty(SHAPE, np.uint16)
    registry.open_writer(where, layout(), resume=True).read(Box.whole(SHAPE), out)
    np.testing.assert_array_equal(out, voxels)
    registry.open_writer(where, layout("gzip")).read(Box.whole(SHAPE), out)
    assert not out.any()


@pytest.mark.parametrize("name", NAMES)
def test_datasets_in_a_container(name: str, s3: S3Server) -> None:
    container = s3.url(f"inside/{name}")
    voxels = write(f"{container}:/raw/a", layout())
    for where in (container, f"{container}:/raw/a", f"{container}/raw/a"):
        np.testing.assert_array_equal(read(open_at(where)), voxels)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_says_nothing(name: str, s3: S3Server) -> None:
    write(s3.url(f"plain/{name}"), layout())
    copy(s3.path(f"plain/{name}"), s3.url(f"plain-{NAMES.index(name)}"))
    np.testing.assert_array_equal(read(open_at(s3.url(f"plain-{NAMES.index(name)}"))), ramp())


def test_precomputed(s3: S3Server, tmp_path: Path) -> None:
    put_scale(tmp_path, ramp((1, *SHAPE)), [4, 4, 4])
    copy(tmp_path, s3.url("neuroglancer"))
    assert registry.recognise(Location.parse(s3.url("neuroglancer"))) == "precomputed"
    np.testing.assert_array_equal(read(open_at(s3.url("neuroglancer"))), ramp())


@pytest.mark.parametrize("name", [*NAMES, "scan.precomputed"])
def test_nothing_there(name: str, s3: S3Server) -> None:
    with pytest.raises(NotFound, match=f"s3://volumes/none/{name} does not exist"):
        open_at(s3.url(f"none/{name}"))
    with pytest.raises(NotFound, match=r"s3://no-such-bucket.* does not exist"):
        open_at(f"s3://no-such-bucket/{name}")


def test_nothing_there_without_a_telling_name(s3: S3Server) -> None:
    with pytest.raises(UnknownFormat, match="was not recognised from its content"):
        open_at(s3.url("none/at-all"))


@pytest.mark.usefixtures("few_retries")
def test_wrong_keys_are_refused(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    write(s3.url("keys/scan.zarr"), layout())
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    with pytest.raises(Unreadable, match=r"Could not read .*: the server denied access; check AWS_ACCESS_KEY_ID"):
        open_at(s3.url("keys/scan.zarr"))
    with pytest.raises(NotWritable, match=r"Could not write .*: the server denied access; check AWS_ACCESS_KEY_ID"):
        write(s3.url("keys/new.n5"), layout())


@pytest.mark.usefixtures("few_retries")
def test_no_server(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Unreadable, match=r"the server does not respond .*AWS_ENDPOINT_URL"):
        open_at(s3.url("a/scan.zarr"))


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorstore_backend, "ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        for name in ("scan.zarr", "scan"):
            with pytest.raises(Unreadable, match=r"Could not read .*: the server did not respond within 0\.2 s\."):
                open_at(f"s3://volumes/{name}")
        with pytest.raises(NotWritable, match=r"the server did not respond within 0\.2 s\."):
            write("s3://volumes/scan.n5", layout())
        with pytest.raises(NotWritable, match=r"Could not write .*: the server did not respond within 0\.2 s\."):
            tensorstore_backend.RemoteStore("s3://volumes/scan").write("key", b"1")
        with pytest.raises(Unreadable, match=r"did not respond within 0\.2 s"):
            tensorstore_backend.remote_fingerprint(Location("s3://volumes/scan.zarr"))


@pytest.mark.parametrize("endpoint", ["localhost:9000", "nonsense", "http://", "http://a b", "ftp://host"])
def test_an_endpoint_that_is_none(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(InvalidInput, match=r"Invalid server address in AWS_ENDPOINT_URL: '.*http://HOST:PORT"):
        open_at("s3://volumes/scan.zarr")


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("s3://", r"has no bucket\. Write s3://BUCKET/KEY"),
        ("s3:///scan.zarr", r"has no bucket\. Write s3://BUCKET/KEY"),
        ("s3://ab/scan.zarr", r"s3://ab/scan\.zarr/zarr\.json has an invalid bucket name\. Use 3 to 63"),
        ("s3://Not_One!/scan", r"s3://Not_One!/scan/.* has an invalid bucket name\."),
    ],
)
def test_an_address_that_is_none(where: str, says: str, s3: S3Server) -> None:
    with pytest.raises(InvalidInput, match=says):
        open_at(where)


@pytest.mark.parametrize("name", ["scan.zarr2", "scan.n5"])
def test_a_damaged_chunk(name: str, s3: S3Server) -> None:
    write(s3.url(f"cut/{name}"), layout("gzip"))
    store, key = tensorstore_backend.RemoteStore(s3.url(f"cut/{name}")), f"{'s0' if name == 'scan.n5' else '0'}/0/0/0"
    store.write(key, (store.read(key) or b"")[:200])
    with pytest.raises(Corrupted, match=r"is corrupted: .*Copy it again"):
        read(open_at(s3.url(f"cut/{name}")))


def test_broken_metadata(s3: S3Server) -> None:
    write(s3.url("broken/scan.zarr"), layout())
    tensorstore_backend.RemoteStore(s3.url("broken/scan.zarr")).write("0/zarr.json", b"{")
    with pytest.raises(Corrupted, match="it is not JSON"):
        open_at(s3.url("broken/scan.zarr"))


def test_fingerprint_changes_with_the_metadata(s3: S3Server) -> None:
    where = Location.parse(s3.url("print/scan.zarr"))
    write(str(where), layout())
    first = tensorstore_backend.remote_fingerprint(where)
    assert tensorstore_backend.remote_fingerprint(where) == first
    write(str(where), layout("gzip"))
    assert tensorstore_backend.remote_fingerprint(where) != first
    with pytest.raises(NotFound, match="does not exist"):
        tensorstore_backend.remote_fingerprint(Location.parse(s3.url("print/none.zarr")))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AWS_ACCESS_KEY_ID": "k"}, {"credentials": "environment"}),
        ({"AWS_PROFILE": "me"}, {"credentials": "default"}),
        ({}, {"credentials": "anonymous"}),
        (
            {"AWS_ENDPOINT_URL": "http://a/", "AWS_ENDPOINT_URL_S3": "http://b/"},
            {"credentials": "anonymous", "endpoint": "http://b", "aws_region": "us-east-1"},
        ),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, {"credentials": "anonymous", "aws_region": "eu-west-1"}),
    ],
)
def test_settings_from_the_environment(
    environment: dict[str, str], expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(tensorstore_backend, "_is_amazon_machine", lambda: False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert tensorstore_backend._s3_settings() == expected


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("RESOURCE_EXHAUSTED: Failed to write: No space left on device", DiskFull, "disk is full"),
        ("PERMISSION_DENIED: Failed to open file [OS error 13: EACCES Permission denied]", NotWritable, "Permission"),
        ("NOT_FOUND: Metadata does not exist", NotFound, "does not exist"),
        ("DATA_LOSS: Error decoding chunk [tensorstore_spec='{}']", Corrupted, "Error decoding chunk. Copy"),
        ('INVALID_ARGUMENT: Error parsing: "shrink" is not registered', UnknownCodec, "codec 'shrink'"),
        ("UNAVAILABLE: nobody", NotWritable, "does not respond"),
    ],
)
def test_errors_of_tensorstore_in_our_words(text: str, kind: type[PellucidError], says: str) -> None:
    error = tensorstore_errors.translate(text, "place/a.zarr", is_writing=True)
    assert type(error) is kind
    assert says in str(error)


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_shards_of_many_chunks_are_read(codec: str, s3: S3Server) -> None:
    """From a server that sends a part of an object with the status of all of it; a missing shard is zeros."""
    where = s3.url(f"shards-{codec}/scan.zarr")
    voxels = np.random.default_rng(0).integers(1, 60_000, (40, 40, 40)).astype(np.uint16)
    wanted = Layout((Level(voxels.shape, (8, 8, 8)),), voxels.dtype, codec=codec, shard=(16, 16, 16))
    writer = registry.open_writer(Location(where), wanted)
    part = Box((0, 0, 0), (32, 40, 40))
    writer.write(part, voxels[part.slices])
    writer.finish()
    reader = open_at(where)
    box = Box((3, 9, 17), (37, 33, 40))
    out = np.empty(box.shape, np.uint16)
    voxels[32:] = 0
    for _ in range(2):
        reader.read(box, out)
        np.testing.assert_array_equal(out, voxels[box.slices])
