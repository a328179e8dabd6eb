"""The Device Workers that a viewer draws with, in a file that only its owner can read.

Here: ClusterFile, ClusterRecord.
Not here: drawing (cluster_renderer), starting Workers (nodes, spark).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.errors import InvalidInput
from pellucid.jobs.private_files import private_folder, read_dataclass, write_json
from pellucid.settings import current

PREFIX = "cluster:"
"""What the device of a viewer begins with that draws with the Workers of a file."""


@dataclass(frozen=True)
class ClusterRecord:
    """credentials: of the application, as text. prefers_local: whether Workers of this machine share their memory."""

    credentials: str = field(repr=False)
    workers: tuple[WorkerId, ...]
    prefers_local: bool = True


@dataclass(frozen=True)
class ClusterFile:
    """Written by the program that started the Workers, again whenever one was replaced; read by the viewer."""

    path: Path

    @classmethod
    def of(cls, credentials: Credentials) -> "ClusterFile":
        folder = current().state_folder / "cluster" / credentials.application
        private_folder(folder)
        return cls(folder / "workers.json")

    @classmethod
    def of_device(cls, device: str) -> "ClusterFile":
        return cls(Path(device.removeprefix(PREFIX)))

    @property
    def device(self) -> str:
        """As the device of a viewer: ``pellucid.start(device=...)``."""
        return f"{PREFIX}{self.path}"

    def write(self, credentials: Credentials, workers: Sequence[WorkerId], *, prefers_local: bool = True) -> None:
        write_json(self.path, asdict(ClusterRecord(credentials.text, tuple(workers), prefers_local)))

    def read(self) -> ClusterRecord:
        found = read_dataclass(ClusterRecord, self.path)
        if found is None:
            raise InvalidInput(
                f"{self.path} names no Device Workers.", remedy="Start the program with the Workers again."
            )
        return found

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
