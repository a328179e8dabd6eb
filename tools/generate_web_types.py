"""Write web/src/protocol.ts: the messages between page and instance as TypeScript, from instance/protocol.

Here: from dataclasses to interfaces and unions.
Not here: the messages (pellucid.instance.protocol).

Run it after a change of the protocol or of the Scene; ``make check`` runs it with --check, which fails when what is
there is stale.
"""

import re
import sys
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pellucid.instance.protocol import (
    access,
    client_messages,
    denoising_bodies,
    http_bodies,
    measuring,
    model_bodies,
    movie_bodies,
    network_bodies,
    reconstruction,
    server_messages,
    shared_types,
    slice_bodies,
    training_bodies,
    view_bodies,
)
from pellucid.rendering import measures, scene, slice_image, slice_options
from tools.generated_file import update

TARGET = Path(__file__).resolve().parent.parent / "web" / "src" / "protocol.ts"
HEAD = """\
// Written by tools/generate_web_types.py from pellucid/instance/protocol. Do not edit: run it again.
// Shapes, spacings, voxels and boxes are in (z, y, x) order; positions in the world in (x, y, z).

"""
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null", object: "Json"}
JSON = "export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };\n"
ALIASES = {
    value: name
    for module in (scene, measures, slice_image, slice_options, shared_types, reconstruction, denoising_bodies)
    for name, value in vars(module).items()
    if get_origin(value) is Literal
}
CONSTANTS = ("VERSION", "MAX_MESSAGE_BYTES", "MAX_EDGE", "MAX_UPLOAD_BYTES")


def generate() -> str:
    """All of the file."""
    bodies = (
        *http_bodies.BODIES,
        *access.BODIES,
        *measuring.BODIES,
        *model_bodies.BODIES,
        *movie_bodies.BODIES,
        *network_bodies.BODIES,
        *denoising_bodies.BODIES,
        *reconstruction.BODIES,
        *slice_bodies.BODIES,
        *training_bodies.BODIES,
        *view_bodies.BODIES,
    )
    sent = set(get_args(client_messages.Incoming)) | set(bodies)
    roots = [
        *get_args(client_messages.Incoming),
        *get_args(server_messages.Outgoing),
        *get_args(server_messages.Header),
    ]
    found: dict[type, None] = {}
    for kind in (
        *roots,
        *bodies,
        *http_bodies.ANSWERS,
        *access.ANSWERS,
        *measuring.ANSWERS,
        *model_bodies.ANSWERS,
        *movie_bodies.ANSWERS,
        *network_bodies.ANSWERS,
        *denoising_bodies.ANSWERS,
        *reconstruction.ANSWERS,
        *slice_bodies.ANSWERS,
        *view_bodies.ANSWERS,
    ):
        collect(kind, found)
    constants = [f"export const {name} = {getattr(shared_types, name)};\n" for name in CONSTANTS]
    unions = [
        union("Incoming", client_messages.Incoming),
        union("Outgoing", server_messages.Outgoing),
        union("Header", server_messages.Header),
    ]
    aliases = [f"export type {name} = {_choice(kind)};\n" for kind, name in ALIASES.items()]
    body = [interface(kind, is_sent=kind in sent) for kind in found]
    return HEAD + "".join(constants) + "\n" + JSON + "".join(aliases) + "\n" + "\n".join([*body, *unions])


def collect(kind: Any, found: dict[type, None]) -> None:
    """Every dataclass that a type mentions, what is inside before what is around it."""
    if is_dataclass(kind):
        for inner in get_type_hints(kind, include_extras=True).values():
            collect(inner, found)
        found.setdefault(kind, None)  # type: ignore[arg-type]  # is_dataclass says "an object or a type"
    else:
        for inner in get_args(kind):
            collect(inner, found)


def interface(kind: Any, is_sent: bool) -> str:
    """One dataclass. is_sent: by the page, which may leave out what has a default."""
    types = get_type_hints(kind, include_extras=True)
    lines = [_comment(getdoc(kind) or ""), f"export interface {kind.__name__} {{\n"]
    for field in fields(kind):
        mark = "?" if is_sent and _has_default(field) and field.name != "type" else ""
        lines.append(f"  readonly {field.name}{mark}: {spelled(types[field.name])};\n")
    return "".join([*lines, "}\n"])


def union(name: str, kinds: Any) -> str:
    members = "".join(f"\n  | {kind.__name__}" for kind in get_args(kinds))
    return f"export type {name} ={members};\n"


def spelled(kind: Any) -> str:
    """A Python type as TypeScript says it.

    >>> spelled(tuple[int, ...] | None), spelled(tuple[str, float]), spelled(Literal["a", "b"])
    ('readonly number[] | null', 'readonly [string, number]', '"a" | "b"')
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return spelled(inner[0])
    if origin is Literal:
        return ALIASES.get(kind, _choice(kind))
    if origin in (Union, UnionType):
        return " | ".join(spelled(one) for one in inner)
    if origin is tuple:
        return _list(inner)
    if origin is dict:
        return f"{{ readonly [name: string]: {spelled(inner[1])} }}"
    return PLAIN[kind] if kind in PLAIN else str(kind.__name__)


def _choice(kind: Any) -> str:
    return " | ".join(f'"{one}"' for one in get_args(kind))


def _list(inner: tuple[Any, ...]) -> str:
    if len(inner) == 2 and inner[1] is Ellipsis:
        element = spelled(inner[0])
        return f"readonly ({element})[]" if " " in element else f"readonly {element}[]"
    return f"readonly [{', '.join(spelled(one) for one in inner)}]"


def _has_default(field: "Field[Any]") -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _comment(text: str) -> str:
    return "/** " + re.sub(r"\n+", "\n * ", text.replace("``", "`").replace("*/", "")).rstrip() + " */\n"


if __name__ == "__main__":
    sys.exit(update(TARGET, generate()))
