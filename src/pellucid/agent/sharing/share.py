"""Sharing a file.

Here: share: written to S3, and a link that expires.
Not here: talking to the server (s3).
"""

import secrets
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pellucid.agent.sharing.s3 import S3Store
from pellucid.errors import InvalidInput, NotFound
from pellucid.jobs.site import Site

DAY_S = 24 * 3600


@dataclass(frozen=True)
class Shared:
    """place: where it lies, as s3://BUCKET/KEY. link: by which anyone can fetch it."""

    place: str
    link: str


def share(path: Path, to: str, days: float, storage: S3Store | None = None) -> Shared:
    """Write a file, or a folder packed into one, below ``to``, under a random name."""
    storage = storage or S3Store.from_environment()
    if not path.exists():
        raise NotFound(str(path))
    name = f"{path.name}.zip" if path.is_dir() else path.name
    place = f"{to.rstrip('/')}/{secrets.token_hex(8)}/{name}"
    link = storage.link(place, round(days * DAY_S))  # Refused before anything is sent.
    if path.is_dir():
        with tempfile.TemporaryDirectory(prefix="pellucid-share-") as folder:
            storage.write(_packed(path, Path(folder) / name), place)
    else:
        storage.write(path, place)
    return Shared(place, link)


def destination(request: str, site: Site) -> str:
    """Where to, as asked for or as the site has decided."""
    to = request or site.share
    if not to:
        remedy = "Pass --to s3://BUCKET/FOLDER, or set share in the site file."
        raise InvalidInput("No destination is configured for shared files.", remedy=remedy)
    return to


def _packed(folder: Path, to: Path) -> Path:
    """As one file. Not compressed again: what is in such folders is."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as packed:
        for file in sorted(one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()):
            packed.write(file, Path(folder.name) / file.relative_to(folder))
    return to
