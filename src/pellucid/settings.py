"""The settings of the user and the site: folders, limits, threads, the device.

Here: Settings, read from arguments, then the environment, then a TOML file, then defaults, in that order of precedence;
sizes such as "20GiB"; the memory this process may use; folders of these settings, made for their owner alone.
Not here: opening the device (device), filling the caches (the layers that own them), options of one command (cli).

The file is ``$PELLUCID_CONFIG``, else ``$XDG_CONFIG_HOME/pellucid/config.toml`` (``~/.config`` where that is unset):

    cache_folder = "/scratch/me/pellucid"
    cache_bytes = "200GiB"
    device = "cuda:1"
"""

import os
import re
import shutil
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from pellucid.errors import InvalidInput

CONFIG_VARIABLE = "PELLUCID_CONFIG"
ALLOWED_FOLDERS_VARIABLE = "PELLUCID_ALLOWED_FOLDERS"  # Set by a process for its children: formats.local_files.
MAX_DEFAULT_CACHE_BYTES = 20 * 2**30
DEVICE_NAME = re.compile(r"auto|cpu|cuda(:\d{1,3})?")

VARIABLES = {
    "cache_folder": "PELLUCID_CACHE_FOLDER",
    "cache_bytes": "PELLUCID_CACHE_BYTES",
    "memory_bytes": "PELLUCID_MEMORY_BYTES",
    "threads": "PELLUCID_THREADS",
    "device": "PELLUCID_DEVICE",
    "kernel_folder": "PELLUCID_KERNEL_FOLDER",
    "state_folder": "PELLUCID_STATE_FOLDER",
    "site_file": "PELLUCID_SITE_FILE",
    "open_timeout_s": "PELLUCID_OPEN_TIMEOUT_S",
}


@dataclass(frozen=True)
class Settings:
    """Every setting, with a value.

    cache_folder: what can be computed again (value ranges, min/max grids, downloaded chunks). Default
    ``$XDG_CACHE_HOME/pellucid`` (``~/.cache`` where that is unset).
    cache_bytes: how large that folder may get. Default 20 GiB, or half of the disk's free space where that is less.
    memory_bytes: working memory all tasks of this process share. Default half of the memory that is available now to
    this process, control-group limits respected.
    threads: default the number of cores this process may run on.
    device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
    kernel_folder: compiled kernels. Default ``kernels`` in the cache folder.
    state_folder: saved states of viewers, and which viewers run. Default ``$XDG_STATE_HOME/pellucid``
    (``~/.local/state`` where that is unset).
    site_file: what the site has decided about jobs (jobs.site). Default ``/etc/pellucid/site.toml``.
    open_timeout_s: how long a viewer, the agent and ``pellucid info`` wait for a file to be opened. Default 120.
    """

    cache_folder: Path
    cache_bytes: int
    memory_bytes: int
    threads: int
    device: str
    kernel_folder: Path
    state_folder: Path
    site_file: Path
    open_timeout_s: int


@dataclass(frozen=True)
class _Given:
    """One value from text. where: its source, for an error; folder: the base of relative paths."""

    name: str
    value: object
    where: str
    folder: Path


def load(**arguments: object) -> Settings:
    """Settings from the arguments given here (None counts as not given), environment, file and defaults.

    >>> load(threads=3, cache_bytes="512MB").cache_bytes
    512000000
    """
    given = _from_file() | _from_environment(os.environ) | _from_arguments(arguments)
    return _with_defaults({name: PARSERS[name](one) for name, one in given.items()})


class _State:
    """The settings of this process. Module state, not a context variable: worker threads must see it too."""

    lock = threading.Lock()
    settings: Settings | None = None


def current() -> Settings:
    """The settings of this process, loaded on first use."""
    with _State.lock:
        if _State.settings is None:
            _State.settings = load()
        return _State.settings


@contextmanager
def use(settings: Settings) -> Iterator[Settings]:
    """Make these the current settings of the whole process, every thread included, until the block ends."""
    with _State.lock:
        before, _State.settings = _State.settings, settings
    try:
        yield settings
    finally:
        with _State.lock:
            _State.settings = before


def make_private_folder(folder: Path) -> Path:
    """Make a folder, and those above it that are missing, for their owner alone, whatever the umask is.

    Kernels in the cache are run, and records in the state folder are trusted: others may not put any there, nor
    replace a folder above them.
    """
    for above in reversed(folder.parents):
        if not above.exists():
            above.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def config_file() -> Path:
    """Where the settings file is looked for."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    return _xdg_folder("XDG_CONFIG_HOME", "~/.config") / "pellucid" / "config.toml"


# Sizes


UNITS = {"": 1, "B": 1} | {
    prefix + suffix: base**power
    for power, prefix in enumerate("KMGTP", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024), ("", 1024))
}


def parse_size(text: str | int) -> int:
    """Bytes from a number with or without a unit. Raises ValueError.

    >>> parse_size("20GiB") == 20 * 2**30, parse_size("512MB"), parse_size(4096)
    (True, 512000000, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(text).strip(), re.IGNORECASE)
    units = {unit.lower(): factor for unit, factor in UNITS.items()}
    if isinstance(text, bool) or not match or match[2].lower() not in units:
        raise ValueError(text)
    return (
        int(float(match[1]) * units[match[2].lower()]) if "." in match[1] else int(match[1]) * units[match[2].lower()]
    )


# Where values come from


def _from_arguments(arguments: Mapping[str, object]) -> dict[str, _Given]:
    given = {name: value for name, value in arguments.items() if value is not None}
    _refuse_unknown(given, VARIABLES, "the arguments")
    return {name: _Given(name, value, f"the argument {name}", Path.cwd()) for name, value in given.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, _Given]:
    ours = {variable for variable, text in environment.items() if variable.startswith("PELLUCID_") and text}
    _refuse_unknown(ours, (*VARIABLES.values(), CONFIG_VARIABLE, ALLOWED_FOLDERS_VARIABLE), "the environment")
    return {
        name: _Given(name, environment[variable], f"the variable {variable}", Path.cwd())
        for name, variable in VARIABLES.items()
        if variable in ours
    }


def _from_file() -> dict[str, _Given]:
    file = config_file()
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if os.environ.get(CONFIG_VARIABLE):
            remedy = f"Correct or unset {CONFIG_VARIABLE}."
            raise InvalidInput(f"The settings file {file} does not exist.", remedy=remedy) from None
        return {}
    except OSError as error:
        remedy = f"Correct its permissions, or set {CONFIG_VARIABLE} to another file."
        raise InvalidInput(f"Could not read the settings file {file}: {error.strerror}.", remedy=remedy) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The settings file {file} is not TOML: {error}.", remedy="Correct that line.") from error
    _refuse_unknown(table, VARIABLES, str(file))
    return {name: _Given(name, value, str(file), file.parent) for name, value in table.items()}


def _refuse_unknown(
    names: "Mapping[str, object] | set[str]", known: "Mapping[str, str] | tuple[str, ...]", where: str
) -> None:
    for name in sorted(names):
        if name not in known:
            raise InvalidInput(f"Unknown setting {name!r} in {where}.", remedy=f"Valid settings: {', '.join(known)}.")


# What a value may be


def _size(given: _Given) -> int:
    try:
        size = parse_size(given.value) if isinstance(given.value, str | int) else 0
    except ValueError:
        size = 0
    if size <= 0:
        raise _invalid(given, 'a size above zero, such as "20GiB", "512MB" or a number of bytes')
    return size


def _count(given: _Given) -> int:
    text = str(given.value)
    if not text.isdecimal() or int(text) < 1:
        raise _invalid(given, "a whole number from 1")
    return int(text)


def _device(given: _Given) -> str:
    text = str(given.value)
    if not DEVICE_NAME.fullmatch(text):
        raise _invalid(given, "auto, cpu, cuda, or a numbered device such as cuda:1")
    return text


def _folder(given: _Given) -> Path:
    if not isinstance(given.value, str | Path) or not str(given.value):
        raise _invalid(given, "a folder path")
    return given.folder / Path(given.value).expanduser()


def _invalid(given: _Given, valid: str) -> InvalidInput:
    what = f"Invalid value {given.value!r} for the setting {given.name} (from {given.where})."
    return InvalidInput(what, remedy=f"Use {valid}.")


PARSERS: Mapping[str, Callable[[_Given], object]] = {
    "cache_folder": _folder,
    "cache_bytes": _size,
    "memory_bytes": _size,
    "threads": _count,
    "device": _device,
    "kernel_folder": _folder,
    "state_folder": _folder,
    "site_file": _folder,
    "open_timeout_s": _count,
}


# Defaults


def _with_defaults(values: dict[str, object]) -> Settings:
    # In the order of the fields: a default may look at the values before it.
    for field in fields(Settings):
        if field.name not in values:
            values[field.name] = DEFAULTS[field.name](values)
    return Settings(**values)  # type: ignore[arg-type]  # each parser and default returns its field's type


def _default_cache_folder(_: Mapping[str, object]) -> Path:
    return _xdg_folder("XDG_CACHE_HOME", "~/.cache") / "pellucid"


def _default_cache_bytes(values: Mapping[str, object]) -> int:
    return min(MAX_DEFAULT_CACHE_BYTES, _free_disk_bytes(Path(str(values["cache_folder"]))) // 2)


def _default_memory_bytes(_: Mapping[str, object]) -> int:
    return available_memory_bytes() // 2


def _default_threads(_: Mapping[str, object]) -> int:
    return len(os.sched_getaffinity(0))


def _default_state_folder(_: Mapping[str, object]) -> Path:
    return _xdg_folder("XDG_STATE_HOME", "~/.local/state") / "pellucid"


def _default_kernel_folder(values: Mapping[str, object]) -> Path:
    return Path(str(values["cache_folder"])) / "kernels"


DEFAULTS: Mapping[str, Callable[[Mapping[str, object]], object]] = {
    "cache_folder": _default_cache_folder,
    "cache_bytes": _default_cache_bytes,
    "memory_bytes": _default_memory_bytes,
    "threads": _default_threads,
    "device": lambda _: "auto",
    "kernel_folder": _default_kernel_folder,
    "state_folder": _default_state_folder,
    "site_file": lambda _: Path("/etc/pellucid/site.toml"),
    "open_timeout_s": lambda _: 120,
}


def _xdg_folder(variable: str, otherwise: str) -> Path:
    # The XDG rules say that a relative path in these variables is to be ignored.
    named = os.environ.get(variable, "")
    return Path(named) if named.startswith("/") else Path(otherwise).expanduser()


def _free_disk_bytes(folder: Path) -> int:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(there).free


# The machine


def total_memory_bytes(root: Path = Path("/")) -> int:
    """The machine's memory, or this control group's limit where that is lower."""
    return min([_meminfo(root, "MemTotal"), *(limit for limit, _ in _group_limits(root))])


def available_memory_bytes(root: Path = Path("/")) -> int:
    """What this process may still take without swapping or hitting a limit of its control group."""
    left = (max(0, limit - used) for limit, used in _group_limits(root))
    return min([_meminfo(root, "MemAvailable"), *left])


def _meminfo(root: Path, name: str) -> int:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def _group_limits(root: Path) -> list[tuple[int, int]]:
    """(limit, used) in bytes of this process's control group and each of its parents that has a limit."""
    limits = []
    for folder, limit_file, used_file, prefix in _group_folders(root):
        limit, used = _number(folder / limit_file), _number(folder / used_file)
        if limit is not None and used is not None:
            # Cached file pages count as used, yet the kernel gives them up before it refuses memory. Those that were
            # read twice are called active: a scan that is read again must not look like memory in use.
            keys = (f"{prefix}inactive_file", f"{prefix}active_file")
            cached = sum(_statistic(folder / "memory.stat", key) for key in keys)
            limits.append((limit, used - min(used, cached)))
    return limits


def _group_folders(root: Path) -> Iterator[tuple[Path, str, str, str]]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, files = root / "sys/fs/cgroup", ("memory.max", "memory.current", "")
        elif "memory" in controllers.split(","):
            top = root / "sys/fs/cgroup/memory"
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        else:
            continue
        for group in [Path(path), *Path(path).parents]:
            yield (top / str(group).lstrip("/"), *files)


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _statistic(file: Path, key: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key} ")), 0)
