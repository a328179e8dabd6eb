"""Presigned S3 addresses, which are valid for a limited time.

Here: S3Credentials, and signed: an address with a signature (version 4), as anyone can open it until it expires.
Not here: where keys come from, and what is sent (s3).
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
MAX_VALIDITY_S = 7 * 24 * 3600
"""No signature of this kind lasts longer."""


@dataclass(frozen=True)
class S3Credentials:
    """Of one user or program. session: of keys that are lent for a while, "" for others."""

    id: str
    secret: str = field(repr=False)
    region: str = "us-east-1"
    session: str = field(default="", repr=False)


def presigned_url(
    method: str,
    address: str,
    keys: S3Credentials,
    lasts_s: int,
    query: Mapping[str, str] | None = None,
    at: float | None = None,
) -> str:
    """The address of an object, with everything that is needed to use it so.

    address: with its path already quoted. query: further words of the request. at: seconds since 1970; else now.
    """
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    scope = f"{moment[:8]}/{keys.region}/s3/aws4_request"
    words = {
        **(query or {}),
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{keys.id}/{scope}",
        "X-Amz-Date": moment,
        "X-Amz-Expires": str(lasts_s),
        "X-Amz-SignedHeaders": "host",
        **({"X-Amz-Security-Token": keys.session} if keys.session else {}),
    }
    requested = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in sorted(words.items()))
    parts = urlsplit(address)
    request = "\n".join([method, parts.path, requested, f"host:{parts.netloc}", "", "host", "UNSIGNED-PAYLOAD"])
    text = "\n".join([ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    signature = hmac.new(_key(keys, scope), text.encode(), hashlib.sha256).hexdigest()
    return f"{address}?{requested}&X-Amz-Signature={signature}"


def _key(keys: S3Credentials, scope: str) -> bytes:
    """The secret, made for one day, region and service."""
    key = f"AWS4{keys.secret}".encode()
    for word in scope.split("/"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return key


def _quoted(text: str) -> str:
    return quote(text, safe="")
