"""Plain data from JSON: frozen dataclasses, checked against their declared types.

Here: from_json, whose refusals name the place in the document; from_reply, for what other programs send.
Not here: what the dataclasses mean (rendering.scene), versions (rendering.scene), messages and bodies that pages and
programs send to an instance: those are read with pydantic, which also describes them for clients (instance.protocol).
"""

from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pellucid.errors import InvalidInput

MAX_INTEGER = 2**63 - 1
MAX_SHOWN = 200


def from_json(kind: Any, value: Any, where: str) -> Any:
    """A value of a declared type from what JSON gives; the message of a refusal names the place."""
    if is_dataclass(kind):
        return _build_dataclass(kind, value, where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None and NoneType in inner else from_json(_fitting(inner, value), value, where)
    if origin is Literal:
        return value if value in inner else _refuse(where, value, f"one of {', '.join(map(str, inner))}")
    if origin is tuple:
        return _build_tuple(inner, value, where)
    return _build_plain(kind, value, where)


def from_reply(kind: Any, value: Any, where: str) -> Any:
    """A dataclass from what another program sends: of its fields, those that the dataclass has; the others may change.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Server:
    ...     ready: bool = False
    >>> from_reply(Server, {"ready": True, "pending": None}, "reply")
    Server(ready=True)
    """
    known = {field.name for field in fields(kind)}
    return from_json(
        kind, {name: one for name, one in value.items() if name in known} if isinstance(value, dict) else value, where
    )


def _build_dataclass(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        _refuse(where, value, "an object")
    known = {field.name for field in fields(kind)}
    if unknown := sorted(set(value) - known):
        raise InvalidInput(
            f"Unknown field {unknown[0]!r} in {where}.", remedy=f"Valid fields: {', '.join(sorted(known))}."
        )
    types = _types(kind)
    try:
        return kind(**{name: from_json(types[name], one, f"{where}.{name}") for name, one in value.items()})
    except TypeError as error:
        raise InvalidInput(f"{where} is incomplete: {error}.", remedy="Add the missing fields.") from error


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _build_tuple(inner: tuple[Any, ...], value: Any, where: str) -> Any:
    if not isinstance(value, list):
        _refuse(where, value, "a list")
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(from_json(inner[0], one, f"{where}[{i}]") for i, one in enumerate(value))
    if len(value) != len(inner):
        _refuse(where, value, f"{len(inner)} numbers")
    return tuple(from_json(kind, one, f"{where}[{i}]") for i, (kind, one) in enumerate(zip(inner, value, strict=True)))


def _build_plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            _refuse(where, value, "a number below 1e308")
    check_storable(value, where)
    return (
        value
        if type(value) is kind
        else _refuse(where, value, {float: "a number", int: "a whole number"}.get(kind, kind.__name__))
    )


def check_storable(value: Any, where: str) -> None:
    """Reject JSON values that other readers do not support: huge numbers and unpaired surrogates.

    value: what JSON can hold, or a dataclass of it.
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    if type(value) is int and not -MAX_INTEGER <= value <= MAX_INTEGER:
        _refuse(where, value, "a whole number of at most 64 bits")
    if type(value) is str and not _is_encodable(value):
        _refuse(where, value, "text that can be written as UTF-8")
    if isinstance(value, dict | list | tuple):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            check_storable(one, f"{where}.{key}")


def _is_encodable(text: str) -> bool:
    """Whether a text can be sent and stored: JSON can hold half of a letter, which nothing else can."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fitting(kinds: tuple[Any, ...], value: Any) -> Any:
    """The kind that a value is of, else the first there is."""
    given = [kind for kind in kinds if kind is not NoneType]
    return next((kind for kind in given if type(value) is kind), given[0])


def _refuse(where: str, value: Any, wanted: str) -> Any:
    raise InvalidInput(f"Invalid value for {where}: {_shortened(value)}.", remedy=f"Use {wanted}.")


def _shortened(value: Any) -> str:
    if type(value) is int and abs(value) > MAX_INTEGER:
        return "a whole number of more than 64 bits"  # Python refuses to print very long ones.
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
