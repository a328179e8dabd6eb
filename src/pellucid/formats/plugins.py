"""Formats from other packages, through the entry point group ``pellucid.formats``, and those of one process.

Here: finding and loading them; adding one. A broken one is logged and skipped: it must not affect other files.
Not here: our own formats and who is asked first (registry).

A plugin is an object with ``open_reader``, ``open_writer`` and ``recognises(path, head) -> bool``, and optionally
``suffixes``, the ends of names by which outputs in its format are asked for.
"""

import logging
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol, cast

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Format

GROUP = "pellucid.formats"

_log = logging.getLogger(__name__)


class PluggedFormat(Format, Protocol):
    """A third party's format. ``suffixes``, with their dots, may be left out."""

    suffixes: tuple[str, ...]

    def recognises(self, path: str, head: bytes) -> bool: ...


_OWN: dict[str, PluggedFormat] = {}


def add_plugin(name: str, plugin: PluggedFormat) -> None:
    """A format that only this process knows."""
    _OWN[name] = plugin


def plugin_names() -> list[str]:
    return sorted({*_OWN, *(point.name for point in entry_points(group=GROUP))})


def load_plugin(name: str) -> PluggedFormat:
    """A plugin that was asked for by name."""
    plugin = _loaded(name)
    if plugin is None:
        raise InvalidInput(
            f"Could not load the plugin for the format {name!r}.",
            remedy="Repair or remove the package that provides it; the log has the reason.",
        )
    return plugin


def plugin_by_content(path: str, head: bytes) -> str | None:
    """The plugin that says a file is its own."""
    return next((name for name in plugin_names() if _recognises(name, path, head)), None)


def plugin_by_suffix(path: str) -> str | None:
    """The plugin that claims the end of a name."""
    lowered = path.rstrip("/").lower()
    return next((name for name in plugin_names() if lowered.endswith(_suffixes(name))), None)


def _suffixes(name: str) -> tuple[str, ...]:
    declared = getattr(_loaded(name), "suffixes", ())
    return (declared.lower(),) if isinstance(declared, str) else tuple(str(suffix).lower() for suffix in declared)


def _recognises(name: str, path: str, head: bytes) -> bool:
    plugin = _loaded(name)
    try:
        return plugin is not None and bool(plugin.recognises(path, head))
    except Exception as error:  # noqa: BLE001  another package's code, asked about a file that need not be its own
        _log.warning("The format plugin %s failed to inspect %s and was skipped: %r.", name, path, error)
        return False


@cache
def _loaded(name: str) -> PluggedFormat | None:
    """Loaded once; None if that fails, which is logged once."""
    if name in _OWN:
        return _OWN[name]
    try:
        return cast(PluggedFormat, next(iter(entry_points(group=GROUP, name=name))).load())
    except Exception as error:  # noqa: BLE001  importing another package's module may raise anything
        _log.warning("Could not load the format plugin %s; it is skipped: %r.", name, error)
        return None
