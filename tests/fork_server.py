"""Processes of Pellucid that start in a tenth of the time: forks of one that has imported everything.

Here: ForkServer, whose start method stands in for fork and exec in subprocess.Popen where a module of Pellucid is run.
Not here: which tests use it (conftest).

A Worker, a viewer or an agent takes about a second of processor time to import what it needs, and the suite starts
hundreds. A forked one is a child of the process that asked for it, and has the arguments, environment, folder, limits
and descriptors that Popen was given, also for those who look into /proc. It gets a server of its own, for the processes
that it starts in turn. Everything else starts as usual: other commands, ``python -c``, other users, other interpreters,
jobs that a shell or Slurm starts.
"""

import array
import ctypes
import gc
import importlib
import json
import os
import platform
import resource
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CLONE_PARENT = 0x8000
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
"""The number of the system call."""
COPIED_LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE)
FORKED = ("pellucid", "tests.cli.interruptible", "tests.instance.killed_sender", "tests.transport.peer")
"""How the names of modules begin that forks may run."""
PRELOADED = (
    "warp",
    "pellucid.workers.main",
    "pellucid.instance.server",
    "pellucid.agent.app",
    "pellucid.client.viewer",
    "pellucid.cli.main",
)
SAFE_PATH = "PYTHONSAFEPATH"
READ_AT_IMPORT = ("PYTHON", "LD_", "OMP_", "OPENBLAS_", "MKL_", "HDF5_", "WARP_", "MALLOC_", "LC_", "LANG", "TZ")
"""How variables begin that a fork would come too late to read."""
HARMLESS = {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", SAFE_PATH}
PADDING = 16384
MOVED = 900
"""Received descriptors wait here, and above, until their own numbers are free."""

Arguments = dict[str, Any]
USUAL = subprocess.Popen._execute_child  # type: ignore[attr-defined]


class ForkServer:
    """Of this process. Its processes are children of this process. connection: to a server that there is already;
    otherwise one is launched when it is needed first, with nothing of what this process has done."""

    def __init__(self, connection: socket.socket | None = None) -> None:
        self._connection, self._lock, self._owner = connection, threading.Lock(), os.getpid()
        self._given = _read_at_import(os.environ)
        self._server: subprocess.Popen[bytes] | None = None
        self.forks = 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        before = subprocess.Popen._execute_child  # type: ignore[attr-defined]
        self.install()
        yield
        subprocess.Popen._execute_child = before  # type: ignore[attr-defined]
        if self._connection is not None:
            self._connection.close()
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def install(self) -> None:
        server = self

        def execute_child(self: Any, *arguments: Any) -> None:
            if not server.start(self, arguments):
                USUAL(self, *arguments)

        subprocess.Popen._execute_child = execute_child  # type: ignore[attr-defined]

    def _launched(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-c", "from tests.fork_server import main; main()", str(theirs.fileno())]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        environment.pop(SAFE_PATH, None)  # The first folder of its path is the one that forks replace.
        environment["FORK_SERVER_PADDING"] = "-" * PADDING
        with theirs:
            self._server = subprocess.Popen([*command, "-" * PADDING], env=environment, pass_fds=[theirs.fileno()])
        return ours

    def start(self, popen: Any, arguments: tuple[Any, ...]) -> bool:
        """Start a process for Popen, with the arguments of its _execute_child. Whether that was possible."""
        named = dict(zip(_PARAMETERS, arguments, strict=True))
        if os.getpid() != self._owner or not self._can(named):
            return False
        pipes = [named["p2cread"], named["c2pwrite"], named["errwrite"]]
        standard = [standing if pipe == -1 else pipe for standing, pipe in enumerate(pipes)]
        passed = sorted(map(int, named["pass_fds"]))
        request = {
            "command": [os.fspath(word) for word in named["args"]],
            "environment": dict(os.environ if named["env"] is None else named["env"]),
            "folder": str(Path.cwd() if named["cwd"] is None else named["cwd"]),
            "has_session": bool(named["start_new_session"]),
            "umask": _umask() if named["umask"] < 0 else named["umask"],
            "limits": [resource.getrlimit(kind) for kind in COPIED_LIMITS],
            "targets": [0, 1, 2, *passed],
        }
        try:
            with self._lock:
                self._connection = self._connection or self._launched()
                _send(self._connection, request, [*standard, *passed])
                popen.pid = int(_receive(self._connection)[0]["pid"])
        except OSError:
            return False
        popen._child_created = True
        self.forks += 1
        popen._close_pipe_fds(*(named[name] for name in _PIPES))
        return True

    def _can(self, named: Arguments) -> bool:
        words = named["args"]
        if isinstance(words, str | bytes | os.PathLike) or named["shell"] or named["executable"] is not None:
            return False
        is_plain = not named["preexec_fn"] and named["close_fds"] and named["process_group"] == -1
        is_mine = named["uid"] is None and named["gid"] is None and named["gids"] is None
        words = list(words)
        module = _module(words)
        is_ours = bool(module) and words[0] == sys.executable and module[0].startswith(FORKED)
        if not (is_plain and is_mine and is_ours and Path(named["cwd"] or ".").is_dir()):
            return False
        environment = os.environ if named["env"] is None else named["env"]
        folders = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
        return _read_at_import(environment) == self._given and all(folder in sys.path for folder in folders)


_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_PARAMETERS = (
    *("args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo", "creationflags"),
    *("shell", *_PIPES, "restore_signals", "gid", "gids", "uid", "umask", "start_new_session", "process_group"),
)
"""Of Popen._execute_child, which passes them by position."""


def is_possible() -> bool:
    """Whether this system and this Python have what it takes."""
    code = USUAL.__code__
    return CLONE is not None and code.co_varnames[1 : code.co_argcount] == _PARAMETERS


def _read_at_import(environment: Any) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT) and name not in HARMLESS
    }


def _module(command: list[Any]) -> list[str]:
    """The module that a command of Python runs, and its arguments; empty for other commands."""
    words = command[2:] if command[1:2] == ["-P"] else command[1:]
    return [str(word) for word in words[1:]] if words[:1] == ["-m"] else []


def _umask() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask:"))
    return int(line.split()[1], 8)


def _send(connection: socket.socket, message: Arguments, descriptors: list[int]) -> None:
    content = json.dumps(message).encode()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    connection.sendmsg([len(content).to_bytes(4, "little")], rights)
    connection.sendall(content)


def _receive(connection: socket.socket) -> tuple[Arguments, list[int]]:
    """The next message and its descriptors; ConnectionError at the end."""
    start, descriptors, _, _ = socket.recv_fds(connection, 4, 250)
    content = b""
    while len(start) == 4 and len(content) < int.from_bytes(start, "little"):
        piece = connection.recv(int.from_bytes(start, "little") - len(content))
        if not piece:
            break
        content += piece
    if not content:
        raise ConnectionError("no more requests")
    message: Arguments = json.loads(content)
    return message, descriptors


def main() -> None:
    """Import everything, and serve. Forks return from serving, and become what was asked for."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that has this one.
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    _run(*_serve(connection))


def _serve(connection: socket.socket) -> tuple[Arguments, list[int]]:
    """Returns in forks alone."""
    while True:
        try:
            request, descriptors = _receive(connection)
        except OSError:
            os._exit(0)
        # Held back until the fork handles it: here it is ignored, and who asked for the fork may interrupt it at once.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        pid = _fork_sibling()
        if pid == 0:
            connection.close()
            return request, descriptors
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for descriptor in descriptors:
            os.close(descriptor)
        with suppress(OSError):
            _send(connection, {"pid": pid}, [])


def _fork_sibling() -> int:
    """As os.fork, but the new process is a child of this one's parent, which can wait for it."""
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = int(ctypes.PyDLL(None).syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return pid


def _run(request: Arguments, descriptors: list[int]) -> None:
    """Become what was asked for: the same as a fresh interpreter would be with its command."""
    if request["has_session"]:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(request["umask"])
    os.chdir(request["folder"])
    _place(descriptors, request["targets"])
    module, *words = _module(request["command"])
    # A Worker starts no such processes. It is forked here, before anybody could take it for what this one becomes.
    connection = None if module == "pellucid.workers.main" else _companion()
    for kind, limit in zip(COPIED_LIMITS, request["limits"], strict=True):
        resource.setrlimit(kind, tuple(limit))
    os.environ.clear()
    os.environ.update(request["environment"])
    if "pellucid.settings" in sys.modules:  # What was imported before may have read those of the server.
        sys.modules["pellucid.settings"]._State.settings = None
    tempfile.tempdir = None  # TMPDIR may be another.
    _show_in_proc(request["command"], request["environment"])
    sys.argv = ["-m", *words]
    sys.orig_argv[:] = request["command"]
    if "-P" in request["command"][:2] or request["environment"].get(SAFE_PATH):
        del sys.path[0]
    else:
        sys.path[0] = request["folder"]
    _renew_standard_streams()
    if connection is not None:
        ForkServer(connection).install()
    sys.modules.pop(module, None)  # A fresh interpreter knows it as __main__ alone.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _companion() -> socket.socket:
    """To a server for a process that has just begun, forked while it has no threads."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        return ours
    _place([theirs.detach()], [3])
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _run(*_serve(socket.socket(fileno=3)))
    sys.exit()


def _place(descriptors: list[int], targets: list[int]) -> None:
    """Give descriptors their numbers, and close all others."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, MOVED + number)
    os.closerange(3 if targets[0] else 0, MOVED)
    for number, target in enumerate(targets):
        os.dup2(MOVED + number, target, inheritable=True)
    os.closerange(MOVED, MOVED + len(descriptors))


def _renew_standard_streams() -> None:
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    is_prompt = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = open(number, "w", closefd=False, errors="backslashreplace" if number == 2 else None)  # noqa: SIM115
        stream.reconfigure(line_buffering=number == 2 or stream.isatty(), write_through=is_prompt)
        setattr(sys, name, stream)


def _show_in_proc(command: list[str], environment: dict[str, str]) -> None:
    """Write both over those that this process was started with, as far as there is space."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end, env_start, env_end = (int(fields[position - 3]) for position in (48, 49, 50, 51))
    _overwrite(start, end, [os.fsencode(word) for word in command])
    _overwrite(env_start, env_end, [os.fsencode(f"{name}={value}") for name, value in environment.items()])


def _overwrite(start: int, end: int, words: list[bytes]) -> None:
    content = b"".join(word + b"\0" for word in words)[: end - start - 1]
    ctypes.memmove(start, content.ljust(end - start, b"\0"), end - start)
