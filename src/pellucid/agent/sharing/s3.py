"""S3 objects: their addresses, and uploading a file as one.

Here: S3Store, from the variables and files that other programs of S3 read too; sending a file.
Not here: signatures (signing), what is shared (share).
"""

import configparser
import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from pellucid import progress
from pellucid.agent.sharing.signing import MAX_VALIDITY_S, S3Credentials, presigned_url
from pellucid.errors import InvalidInput, NotWritable

PART_BYTES = 64 * 2**20
MAX_PARTS = 10_000
PIECE_BYTES = 2**20
TIMEOUT_S = 60.0
SEND_S = 24 * 3600
KEYS_DO = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to ~/.aws/credentials."


@dataclass(frozen=True)
class S3Store:
    """An object store. endpoint: "" for Amazon's own."""

    keys: S3Credentials
    endpoint: str = ""

    @classmethod
    def from_environment(cls) -> "S3Store":
        given = {name: value for name, value in os.environ.items() if name.startswith("AWS_") and value}
        profile = given.get("AWS_PROFILE", "default")
        secret = _section(given.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), profile)
        chosen = _section(given.get("AWS_CONFIG_FILE", "~/.aws/config"), profile)
        id = given.get("AWS_ACCESS_KEY_ID") or secret.get("aws_access_key_id", "")
        word = given.get("AWS_SECRET_ACCESS_KEY") or secret.get("aws_secret_access_key", "")
        if not id or not word:
            raise InvalidInput("No S3 credentials were found.", remedy=KEYS_DO)
        region = given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION") or chosen.get("region", "us-east-1")
        session = given.get("AWS_SESSION_TOKEN") or secret.get("aws_session_token", "")
        endpoint = given.get("AWS_ENDPOINT_URL_S3") or given.get("AWS_ENDPOINT_URL") or chosen.get("endpoint_url", "")
        return cls(S3Credentials(id, word, region, session), endpoint.rstrip("/"))

    def address(self, object: str) -> str:
        """Of ``s3://bucket/key``, without a signature."""
        parts = urlsplit(object)
        key = quote(object.removeprefix(f"s3://{parts.netloc}/"), safe="/-._~")
        if parts.scheme != "s3" or not parts.netloc or not key:
            raise InvalidInput(f"{object!r} is not an S3 address.", remedy="Use s3://BUCKET/KEY.")
        if self.endpoint:
            return f"{self.endpoint}/{parts.netloc}/{key}"
        return f"https://{parts.netloc}.s3.{self.keys.region}.amazonaws.com/{key}"

    def link(self, object: str, lasts_s: int) -> str:
        """By which anyone can fetch the object until then."""
        if not 0 < lasts_s <= MAX_VALIDITY_S:
            raise InvalidInput("A link can be valid for at most 7 days.", remedy="Use 7 days or fewer.")
        return presigned_url("GET", self.address(object), self.keys, lasts_s)

    def write(self, file: Path, object: str, part_bytes: int = PART_BYTES) -> None:
        """Send a file. What is large goes in parts: a server takes only so much at once."""
        size = file.stat().st_size
        with progress.task(f"Sending {file.name}", total=size, unit="B") as bar:
            if size <= part_bytes:
                self._put(object, {}, _pieces(file, 0, size, bar), size)
                return
            part_bytes = max(part_bytes, -(-size // MAX_PARTS))
            upload = _found(self._ask("POST", object, {"uploads": ""}), "UploadId")
            tags = []
            for number, start in enumerate(range(0, size, part_bytes), start=1):
                count = min(part_bytes, size - start)
                words = {"partNumber": str(number), "uploadId": upload}
                tags.append(self._put(object, words, _pieces(file, start, count, bar), count))
            listed = "".join(
                f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
                for number, tag in enumerate(tags, start=1)
            )
            whole = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
            self._ask("POST", object, {"uploadId": upload}, whole)

    def _put(self, object: str, words: dict[str, str], pieces: Iterator[bytes], count: int) -> str:
        """The tag by which the server knows what was sent."""
        with _Exchange(object, presigned_url("PUT", self.address(object), self.keys, SEND_S, words)) as exchange:
            return exchange.ask("PUT", pieces, count).getheader("ETag", "")

    def _ask(self, method: str, object: str, words: dict[str, str], body: bytes = b"") -> bytes:
        with _Exchange(object, presigned_url(method, self.address(object), self.keys, SEND_S, words)) as exchange:
            return exchange.ask(method, body, len(body)).read()


class _Exchange:
    """One request; a failure is a PellucidError."""

    def __init__(self, object: str, address: str) -> None:
        self._object, self._parts = object, urlsplit(address)
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(self._parts.netloc, timeout=TIMEOUT_S)

    def __enter__(self) -> "_Exchange":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, method: str, body: "bytes | Iterator[bytes]", count: int) -> http.client.HTTPResponse:
        target = f"{self._parts.path}?{self._parts.query}"
        try:
            self._connection.request(method, target, body, {"Content-Length": str(count)})
            answer = self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise NotWritable(self._object, f"the server does not respond: {error}") from error
        if answer.status >= 300:
            raise NotWritable(self._object, f"the server rejected the request: {_reason(answer)}")
        return answer


def _pieces(file: Path, start: int, count: int, bar: progress.Bar) -> Iterator[bytes]:
    with file.open("rb") as content:
        content.seek(start)
        while count:
            piece = content.read(min(count, PIECE_BYTES))
            if not piece:
                raise NotWritable(str(file), "the file became shorter during the upload")
            count -= len(piece)
            yield piece
            bar.advance(len(piece))


def _reason(answer: http.client.HTTPResponse) -> str:
    text = answer.read()
    return _found(text, "Message") or _found(text, "Code") or f"{answer.status} {answer.reason}"


def _found(document: bytes, name: str) -> str:
    """The text of an element, whatever its namespace; "" where there is none."""
    try:
        root = ElementTree.fromstring(document)
    except ElementTree.ParseError:
        return ""
    return next((one.text or "" for one in root.iter() if one.tag.rpartition("}")[2] == name), "")


def _section(file: str, profile: str) -> dict[str, str]:
    """What a file of Amazon's programs says for a profile."""
    parser = configparser.RawConfigParser()
    try:
        parser.read(Path(file).expanduser())
    except configparser.Error as error:
        raise InvalidInput(f"Cannot read {file}: {error}.", remedy="Correct it.") from error
    return next((dict(parser[name]) for name in (profile, f"profile {profile}") if parser.has_section(name)), {})
