"""Texts without file paths, for guests.

Here: without_paths; redacted, an error for those with a given capability; refuse, which sends one to a client.
Not here: scenes without paths (edits).
"""

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING

from pellucid.errors import PellucidError, error_named
from pellucid.instance.access.capabilities import allows
from pellucid.instance.protocol.server_messages import ErrorMessage
from pellucid.instance.protocol.shared_types import Capability
from pellucid.instance.scene.edits import sources

if TYPE_CHECKING:
    from pellucid.instance.session import Session
    from pellucid.instance.websocket.client import ConnectedClient

_PATH = re.compile(r"(?<![\w.~/])(?:[A-Za-z][\w+.-]{0,30}:/|~[\w.-]{0,64}|(?!/api/))/[^\s'\"`,;()<>]+")
"""From its beginning at the root, the home folder or a scheme, up to a space or a sign that ends it. Schemes and names
of users have a length: without it, a text such as "a-a-a-…" takes the square of its own length."""
MAX_GUEST_TEXT = 2000
"""Characters of an error for guests, who may have sent what it quotes."""
_DATASET = ":/"


def without_paths(text: str, known: Iterable[str] = ()) -> str:
    """The text with the last part of each path only. known: paths that may be in it, which may contain spaces.

    >>> without_paths("/data/ada/scans/rock.h5 cannot be read: No such file.")
    'rock.h5 cannot be read: No such file.'
    """
    for path in sorted(known, key=len, reverse=True):
        if "/" in path:
            # What follows belongs to it as far as it has no spaces.
            whole = re.compile(re.escape(path.rstrip("/")) + r"(?:/[^\s'\"`,;()<>]*)?")
            text = whole.sub(lambda match: _name(match.group()), text)
    return _PATH.sub(lambda match: _name(match.group()), text)


def _name(path: str) -> str:
    """The last part of a path; a sign that ends the sentence stays."""
    file, dataset, _ = path.replace("://", "//").partition(_DATASET)
    bare = file.rstrip(".:/")
    end = "" if dataset else file[len(bare) :].replace("/", "")
    return (PurePath(bare).name or "a folder") + end


def redacted(error: PellucidError, capability: Capability, known: Iterable[str] = ()) -> PellucidError:
    """The error as a client with this capability may see it."""
    if allows(capability, "own"):
        return error
    paths = tuple(known)
    what, remedy = (without_paths(_shortened(text), paths) for text in (error.what, error.remedy))
    return error_named(type(error).__name__, what, remedy, int(getattr(error, "line", 0)))


def _shortened(text: str) -> str:
    """Cut at a space: of a path that is cut elsewhere, the name of a folder would be left."""
    if len(text) <= MAX_GUEST_TEXT:
        return text
    start = text[:MAX_GUEST_TEXT]
    return f"{start.rpartition(' ')[0] or start} …"


def known_paths(session: "Session") -> tuple[str, ...]:
    """What errors of a viewer may name."""
    return (*session.roots.names, *sources(session.history.scene))


def refuse(session: "Session", member: "ConnectedClient", error: PellucidError, request: str = "") -> None:
    """Send a client the error of a request."""
    shown, line = redacted(error, member.client.capability, known_paths(session)), int(getattr(error, "line", 0))
    member.outbox.put(ErrorMessage(shown.what, shown.remedy, session.history.revision, request, line))
