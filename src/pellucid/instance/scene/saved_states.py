"""Saved states: everything that is needed to show the same image again.

Here: writing one down under a short name, and reading it back.
Not here: what is in it (protocol.http_bodies.SavedState), taking and restoring it (session).
"""

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from pellucid.errors import InvalidInput, NotFound
from pellucid.formats.system_errors import system_error
from pellucid.instance.protocol.codec import first_error
from pellucid.instance.protocol.http_bodies import SavedState
from pellucid.jobs.private_files import private_folder, write_private
from pellucid.settings import current

VERSION = 1
NAME = re.compile(r"[0-9a-f]{10}")
_STATE: TypeAdapter[SavedState] = TypeAdapter(SavedState)


def states_folder() -> Path:
    """Where states are kept."""
    return current().state_folder / "states"


def save_state(state: SavedState, folder: Path | None = None) -> str:
    """Write a state down; the name follows from what is in it."""
    folder = folder or states_folder()
    text = json.dumps(asdict(state), sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:10]
    try:
        write_private(private_folder(folder) / f"{name}.json", text)
    except OSError as error:
        raise system_error(error, str(folder)) from error
    return name


def load_state(name: str, folder: Path | None = None) -> SavedState:
    """The state of a name, or in a file."""
    path = (folder or states_folder()) / f"{name}.json" if NAME.fullmatch(name) else Path(name)
    try:
        return read_state(path.read_text())
    except OSError as error:
        raise NotFound(f"The state {name}") from error


def read_state(text: str) -> SavedState:
    try:
        state = _STATE.validate_json(text)
    except ValidationError as error:
        raise InvalidInput(f"Invalid saved state: {first_error(error)}.", remedy="Save it again.") from error
    if state.version != VERSION:
        raise InvalidInput(
            f"The state has version {state.version}, not {VERSION}.", remedy="Update Pellucid to open it."
        )
    return state
