"""``pellucid doctor``: check what this machine supports, what is missing, and how to install it.

Here: the checks, and printing what they find.
Not here: devices and kernels themselves (device), settings (settings).
"""

import argparse
import json
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from pellucid import settings
from pellucid.device import Device, choose, devices
from pellucid.device.driver import driver_version
from pellucid.errors import PellucidError
from pellucid.progress import amount, duration

OK, ABSENT, BAD = "ok", "absent", "bad"

OLDEST_DRIVER = 580
"""The PyPI wheel of Warp is built with CUDA 13, which came with this series of drivers."""

SMALL_SHARED_MEMORY = 2**30
CACHE_FILES_COUNTED = 20_000
"""A cache with more files than this is not added up: the answer is wanted at once."""

SLOW_KERNEL_S = 0.5
"""A kernel from the cache runs sooner than this after it is asked for."""


@dataclass(frozen=True)
class Finding:
    """One line of the report. state: ok, absent (optional and not there) or bad. remedy: what to do, empty if ok."""

    name: str
    state: str
    detail: str
    remedy: str = ""
    is_required: bool = False


@dataclass(frozen=True)
class OptionalComponent:
    """Something optional. module: what is imported, or for a program the command. remedy: how to get it."""

    module: str
    purpose: str
    remedy: str
    distribution: str = ""


PARTS = (
    OptionalComponent("cupy", "FFT, sort and scan on CUDA", "pip install 'pellucid[cuda]'", "cupy-cuda13x"),
    OptionalComponent("onnxruntime", "applying networks to volumes", "pip install 'pellucid[infer]'"),
    OptionalComponent("torch", "compressing volumes into neural fields", "pip install 'pellucid[neural]'"),
    OptionalComponent("jupyterhub", "many users on one server", "pip install 'pellucid[hub]'"),
    OptionalComponent("anywidget", "viewers in notebooks", "pip install 'pellucid[notebook]'"),
    OptionalComponent("ucxx", "RDMA between nodes", "pip install 'pellucid[ucx]'", "ucxx-cu13"),
)
PROGRAMS = (OptionalComponent("sbatch", "running on a cluster", "Run pellucid on a login node of a Slurm cluster."),)


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "doctor", help="check what this machine supports, what is missing and how to install it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    findings = doctor(as_json=options.json)
    return 1 if any(finding.is_required and finding.state == BAD for finding in findings) else 0


def doctor(*, as_json: bool = False) -> list[Finding]:
    """Examine this machine and print what was found. Takes seconds; the first kernel may add a few for compiling."""
    findings = [finding for name, check in CHECKS.items() for finding in _examine(name, check)]
    print(json.dumps([asdict(one) for one in findings], indent=2) if as_json else text(findings))
    return findings


def text(findings: Iterable[Finding]) -> str:
    """One line each; what to do about it below, indented."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.state:<7} {finding.name:<16} {finding.detail}")
        if finding.remedy:
            lines.append(f"{'':<24} -> {finding.remedy}")
    return "\n".join(lines)


def _examine(name: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    # One part of the machine that cannot be examined must not hide the others.
    try:
        return check()
    except PellucidError as error:
        return [Finding(name, BAD, error.what, error.remedy, is_required=True)]
    except (OSError, RuntimeError) as error:
        return [
            Finding(name, BAD, str(error), "Send this line to the administrator of this machine.", is_required=True)
        ]


# The system


def check_python() -> list[Finding]:
    detail = f"{platform.python_version()} at {sys.executable}"
    return [
        Finding("Python", OK, detail, is_required=True),
        Finding("platform", OK, platform.platform(), is_required=True),
    ]


def check_settings() -> list[Finding]:
    file = settings.config_file()
    settings.current()
    detail = f"from {file}" if file.exists() else f"defaults and environment variables; {file} does not exist"
    return [Finding("settings", OK, detail, is_required=True)]


def check_cores() -> list[Finding]:
    usable, there = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    of_all = "" if usable == there else f" of {there}"
    detail = f"{usable}{of_all} usable, {settings.current().threads} threads used"
    return [Finding("cores", OK, detail, is_required=True)]


def check_memory() -> list[Finding]:
    total, free = settings.total_memory_bytes(), settings.available_memory_bytes()
    budget = settings.current().memory_bytes
    detail = f"{amount(total, 'B')}, {amount(free, 'B')} available, {amount(budget, 'B')} budget"
    return [Finding("memory", OK, detail, is_required=True)]


def check_shared_memory() -> list[Finding]:
    descriptor = os.memfd_create("pellucid-doctor")
    try:
        os.ftruncate(descriptor, 4096)
    finally:
        os.close(descriptor)
    return [Finding("shared memory", OK, "memfd works", is_required=True), _dev_shm()]


def _dev_shm(folder: Path = Path("/dev/shm")) -> Finding:
    if not folder.is_dir():
        return Finding("/dev/shm", ABSENT, "missing", "Start the container with --shm-size=4g.")
    usage = shutil.disk_usage(folder)
    detail = f"{amount(usage.total, 'B')}, {amount(usage.free, 'B')} free"
    if usage.total < SMALL_SHARED_MEMORY:
        return Finding(
            "/dev/shm", BAD, f"{detail}; too small for large volumes", "Start the container with --shm-size=4g."
        )
    return Finding("/dev/shm", OK, detail)


def check_ports() -> list[Finding]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return [Finding("ports", OK, f"loopback works (tried {port})", is_required=True)]


def check_cache() -> list[Finding]:
    """Whether the cache and kernel folders take files, and how full they are."""
    chosen = settings.current()
    return [
        _folder("cache", chosen.cache_folder, settings.VARIABLES["cache_folder"]),
        _folder("kernels", chosen.kernel_folder, settings.VARIABLES["kernel_folder"]),
        Finding("cache limit", OK, amount(chosen.cache_bytes, "B")),
    ]


def _folder(name: str, folder: Path, variable: str) -> Finding:
    problem = _write_problem(folder)
    if problem:
        remedy = f"Set {variable} to a folder with write permission."
        return Finding(name, BAD, f"{folder}: {problem}", remedy, is_required=True)
    return Finding(name, OK, f"{folder}, {_fullness(folder)}", is_required=True)


def _write_problem(folder: Path) -> str:
    try:
        settings.make_private_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()


def _fullness(folder: Path) -> str:
    total = count = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            total += (Path(parent) / name).lstat().st_size
            count += 1
        if count > CACHE_FILES_COUNTED:
            return f"more than {amount(total, 'B')}"
    return f"{amount(total, 'B')} used"


# Devices


def check_driver() -> list[Finding]:
    found = driver_version()
    if found is None:
        remedy = f"For a GPU, install an NVIDIA driver, R{OLDEST_DRIVER} or newer."
        return [Finding("NVIDIA driver", ABSENT, "none: everything runs on the CPU", remedy)]
    if int(found.partition(".")[0]) < OLDEST_DRIVER:
        remedy = f"Install R{OLDEST_DRIVER} or newer; until then everything runs on the CPU."
        return [Finding("NVIDIA driver", BAD, f"{found} is too old for this Warp", remedy)]
    return [Finding("NVIDIA driver", OK, found)]


def check_devices() -> list[Finding]:
    chosen, found = choose(), devices()
    findings = [_describe(device, is_chosen=device == chosen) for device in found]
    if driver_version() is not None and not any(device.is_cuda for device in found):
        remedy = "Check that nvidia-smi lists a GPU, and check CUDA_VISIBLE_DEVICES."
        findings.append(Finding("device cuda", BAD, "a driver is installed, but no GPU is usable", remedy))
    return findings


def _describe(device: Device, *, is_chosen: bool) -> Finding:
    memory = f"{amount(device.free_bytes(), 'B')} of {amount(device.total_bytes, 'B')} free"
    chosen = ", the default" if is_chosen else ""
    return Finding(f"device {device.name}", OK, f"{device.label}, {memory}{chosen}")


def check_kernels() -> list[Finding]:
    """Compile and run one kernel on every device."""
    warp = Finding("Warp", OK, version("warp-lang"), is_required=True)
    return [warp, *(_kernel(device) for device in devices())]


def _kernel(device: Device) -> Finding:
    from pellucid.device.probe import seconds_to_run

    name = f"kernel on {device.name}"
    try:
        seconds = seconds_to_run(device)
    except RuntimeError as error:
        remedy = "The compiler's message is above; on CUDA, check the driver too."
        return Finding(name, BAD, str(error).partition("\n")[0], remedy, is_required=not device.is_cuda)
    detail = f"works, compiled in {duration(seconds)}" if seconds > SLOW_KERNEL_S else "works, already compiled"
    return Finding(name, OK, detail, is_required=not device.is_cuda)


# Optional parts


def check_parts() -> list[Finding]:
    return [_part(part) for part in PARTS] + [_program(part) for part in PROGRAMS]


def _part(part: OptionalComponent) -> Finding:
    # Looked for, not imported: importing some of them takes seconds.
    if find_spec(part.module) is None:
        return Finding(part.module, ABSENT, f"for {part.purpose}", part.remedy)
    try:
        detail = version(part.distribution or part.module)
    except PackageNotFoundError:
        detail = "installed"
    return Finding(part.module, OK, detail)


def _program(part: OptionalComponent) -> Finding:
    path = shutil.which(part.module)
    if path is None:
        return Finding(part.module, ABSENT, f"for {part.purpose}", part.remedy)
    return Finding(part.module, OK, path)


CHECKS: dict[str, Callable[[], list[Finding]]] = {
    "Python": check_python,
    "settings": check_settings,
    "cores": check_cores,
    "memory": check_memory,
    "shared memory": check_shared_memory,
    "ports": check_ports,
    "cache folder": check_cache,
    "NVIDIA driver": check_driver,
    "devices": check_devices,
    "Warp": check_kernels,
    "optional parts": check_parts,
}
