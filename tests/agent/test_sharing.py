"""Links that expire: the signature, the object, what is refused."""

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest

from pellucid.agent.jobs.environment import job_environment
from pellucid.agent.sharing.s3 import S3Store
from pellucid.agent.sharing.share import destination, share
from pellucid.agent.sharing.signing import S3Credentials, presigned_url
from pellucid.cli.main import main
from pellucid.errors import InvalidInput, NotFound, NotWritable
from pellucid.jobs.site import Site
from pellucid.volume.sample_volume import sample
from tests.agent.processes import agent
from tests.s3_server import KEY, SECRET, S3Server


def test_a_signature_is_as_amazon_documents_it() -> None:
    keys = S3Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    address = presigned_url("GET", "https://examplebucket.s3.amazonaws.com/test.txt", keys, 86400, at=1369353600)
    assert address.endswith("aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    assert "SECRET" not in repr(keys) and "wJalr" not in repr(keys)


def test_whoever_has_the_link_fetches_the_file(s3: S3Server, tmp_path: Path) -> None:
    file = tmp_path / "my rock & ore.npy"
    np.save(file, sample(8))
    shared = share(file, s3.url("shared"), days=1)
    assert httpx.get(shared.link).content == file.read_bytes()
    assert httpx.get(shared.link[:-1] + "x").status_code == 403
    assert httpx.get(shared.link.partition("?")[0]).status_code >= 400
    assert re.fullmatch(r"s3://volumes/shared/[0-9a-f]{16}/my rock & ore\.npy", shared.place)


def test_a_link_expires(s3: S3Server, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    storage = S3Store.from_environment()
    place = share(tmp_path / "a", s3.url("old"), days=1).place
    late = presigned_url("GET", storage.address(place), storage.keys, 60, at=1_000_000_000)
    assert httpx.get(late).status_code >= 400


def test_a_large_file_goes_in_parts(s3: S3Server, tmp_path: Path) -> None:
    content = np.random.default_rng(1).bytes(11 * 2**20)
    (tmp_path / "large.raw").write_bytes(content)
    storage = S3Store.from_environment()
    storage.write(tmp_path / "large.raw", s3.url("large.raw"), part_bytes=5 * 2**20)
    assert httpx.get(storage.link(s3.url("large.raw"), 60)).content == content


def test_a_folder_is_packed(s3: S3Server, tmp_path: Path) -> None:
    (tmp_path / "rock.zarr/0").mkdir(parents=True)
    (tmp_path / "rock.zarr/0/zarr.json").write_text("{}")
    shared = share(tmp_path / "rock.zarr", s3.url("shared"), days=7)
    with zipfile.ZipFile(io.BytesIO(httpx.get(shared.link).content)) as packed:
        assert packed.namelist() == ["rock.zarr/0/zarr.json"]


def test_what_cannot_be_shared_says_why(s3: S3Server, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    with pytest.raises(NotFound):
        share(tmp_path / "none", s3.url("x"), days=1)
    with pytest.raises(InvalidInput, match="at most 7 days"):
        share(tmp_path / "a", s3.url("x"), days=8)
    with pytest.raises(InvalidInput, match="is not an S3 address"):
        share(tmp_path / "a", "https://elsewhere", days=1)
    storage = S3Store.from_environment()
    wrong = replace(storage, keys=replace(storage.keys, secret="wrong"))
    with pytest.raises(NotWritable, match="the server rejected"):
        share(tmp_path / "a", s3.url("x"), 1, wrong)
    with pytest.raises(NotWritable, match="does not respond"):
        share(tmp_path / "a", s3.url("x"), 1, replace(storage, endpoint="http://127.0.0.1:9"))
    with pytest.raises(InvalidInput, match="No destination is configured"):
        destination("", Site())
    assert destination("", Site(share="s3://a/b")) == "s3://a/b"


def test_keys_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with pytest.raises(InvalidInput, match="No S3 credentials"):
        S3Store.from_environment()
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
    (tmp_path / "config").write_text("[default]\nregion = eu-west-1\n")
    found = S3Store.from_environment()
    assert found == S3Store(S3Credentials("a", "b", "eu-west-1"))
    assert found.address("s3://bucket/a b") == "https://bucket.s3.eu-west-1.amazonaws.com/a%20b"


def test_the_command_prints_the_link(s3: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes(b"a")
    assert main(["share", str(tmp_path / "a.txt"), "--to", s3.url("by-hand")]) == 0
    assert httpx.get(capsys.readouterr().out.strip()).content == b"a"


def test_a_task_shares_with_keys_that_nobody_else_sees(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "a.txt").write_bytes(b"a")
    secret = tmp_path / "credentials"
    secret.write_text(f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(secret))
    assert "AWS_SECRET_ACCESS_KEY" not in job_environment() and job_environment()["AWS_ENDPOINT_URL"] == s3.endpoint
    with agent(tmp_path / "state", f'share = "{s3.url("by-task")}"') as running:
        id = running.run(tmp_path, "share", "a.txt")
        reply = running.until(id, "ended")
        assert httpx.get(reply["progress"]["result"]).content == b"a"
        assert SECRET not in (running.place(id) / "script.sh").read_text()
