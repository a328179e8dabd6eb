"""A private Slurm on this machine: its own key, ports and folders, nodes with two GPUs each that are not real.

Here: SlurmCluster, started and stopped; its controller can be taken away and brought back.
Not here: tests.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import wait_until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
CONFIGURATION = """ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1,sched_interval=5,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MinJobAge=60
KillWait=2
OverTimeLimit=0
InactiveLimit=0
MessageTimeout=5
GresTypes=gpu
SlurmdParameters=config_overrides
{listed}PartitionName=main Nodes={nodes} Default=YES MaxTime=INFINITE DefMemPerCPU=100
"""
NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=8000 Gres=gpu:2\n"


def can_run() -> bool:
    """Whether this machine has the programs, and this person the right to start them."""
    return os.geteuid() == 0 and all(shutil.which(name) for name in PROGRAMS)


@dataclass(frozen=True)
class SlurmCluster:
    """folder: everything of it. nodes: their names; each is a slurmd of its own. environment: makes Slurm's commands
    talk to it."""

    folder: Path
    nodes: tuple[str, ...] = ("localhost",)

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def command(self, *words: str) -> str:
        """What one of Slurm's commands prints."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout

    def start_controller(self) -> None:
        self.command("slurmctld")
        wait_until(lambda: self._are_ready(self._nodes()))

    @staticmethod
    def _are_ready(states: str) -> bool:
        """With a star, a node has not answered yet."""
        return bool(states) and not any(state == "unk" or state.endswith("*") for state in states.split())

    def stop_controller(self) -> None:
        _end(self.folder / "slurmctld.pid")

    def start(self) -> None:
        _prepare(self.folder, self.nodes)
        subprocess.run(["runuser", "-u", "munge", "--", *_munged(self.folder)], check=True, capture_output=True)
        wait_until((self.folder / "munge.socket").exists)
        for name in self.nodes:
            self.command("slurmd", "-N", name)
        self.start_controller()

    def clear(self) -> None:
        """No job left, and the node in service."""
        if not self.command("squeue", "--noheader").strip():
            return
        with suppress(subprocess.CalledProcessError):
            for user in set(self.command("squeue", "--noheader", "--format=%U").split()):
                self.command("scancel", f"--user={user}", "--signal=KILL", "--full")
                self.command("scancel", f"--user={user}")
            wait_until(lambda: not self.command("squeue", "--noheader").strip())
        with suppress(subprocess.CalledProcessError):
            self.command("scontrol", "update", f"nodename={','.join(self.nodes)}", "state=resume")

    def stop(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.clear()
        for name in ("slurmctld", *(f"slurmd.{name}" for name in self.nodes), "munged"):
            _end(self.folder / f"{name}.pid")

    def _nodes(self) -> str:
        """The state of each node."""
        with suppress(subprocess.CalledProcessError):
            return self.command("sinfo", "--noheader", "--Node", "--format=%t").strip()
        return ""


@contextmanager
def started(*nodes: str) -> Iterator[SlurmCluster]:
    """A cluster until the block ends. Not in pytest's folders: those are closed to the users whom Slurm acts for."""
    folder = Path(tempfile.mkdtemp(prefix="pellucid-slurm-"))
    folder.chmod(0o755)
    cluster = SlurmCluster(folder, nodes or ("localhost",))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(folder: Path, nodes: Sequence[str]) -> None:
    for name in ("state", "spool", "dev", "munge"):
        (folder / name).mkdir()
    for number in range(2):
        subprocess.run(["mknod", "-m", "666", str(folder / f"dev/gpu{number}"), "c", "1", "3"], check=True)
    listed = "".join(NODE.format(name=name, port=_free_port()) for name in nodes)
    text = CONFIGURATION.format(folder=folder, controller_port=_free_port(), nodes=",".join(nodes), listed=listed)
    (folder / "slurm.conf").write_text(text)
    gpus = "".join(f"NodeName={name} Name=gpu Count=2 File={folder}/dev/gpu[0-1]\n" for name in nodes)
    (folder / "gres.conf").write_text(f"AutoDetect=off\n{gpus}")
    (folder / "munge/key").write_bytes(os.urandom(1024))
    munge = pwd.getpwnam("munge")
    for path in (folder / "munge", folder / "munge/key"):
        os.chown(path, munge.pw_uid, munge.pw_gid)
    (folder / "munge/key").chmod(0o400)
    # munged writes its socket and pid here, and wants the folder to belong to root or to itself.
    os.chown(folder, munge.pw_uid, munge.pw_gid)


def _munged(folder: Path) -> list[str]:
    places = {
        "key-file": folder / "munge/key",
        "socket": folder / "munge.socket",
        "pid-file": folder / "munged.pid",
        "log-file": folder / "munge/log",
        "seed-file": folder / "munge/seed",
    }
    return ["munged", *(f"--{name}={path}" for name, path in places.items())]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end(pid_file: Path) -> None:
    with suppress(FileNotFoundError, ProcessLookupError, ValueError):
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: _is_gone(pid))


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
