"""Every error that a user can see: what is wrong, and what to do.

Here: the error classes and their messages.
Not here: when to raise them (the layer that finds the fault), how to print them (cli).
"""

from collections.abc import Iterable, Mapping, Sequence

from pellucid.printable import printable, size_text

MAX_LISTED = 20
REMOTE_REMEDY = "Check the address, AWS_ENDPOINT_URL, the credentials and the network."


class PellucidError(Exception):
    """An error of two sentences: what is wrong, and what to do.

    >>> raise PellucidError("The lens cap is on.", remedy="Take it off.")
    Traceback (most recent call last):
    pellucid.errors.PellucidError: The lens cap is on. Take it off.
    """

    is_transient = False  # whether the same work may succeed when it is simply done again

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy = printable(what), printable(remedy)  # Names from files are in them.
        super().__init__(self.what, self.remedy)

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        # Subclasses take their own arguments; errors cross process borders, so rebuild from the two sentences.
        return (_rebuild, (type(self), self.what, self.remedy))


def _rebuild(kind: type[PellucidError], what: str, remedy: str) -> PellucidError:
    error = kind.__new__(kind)
    PellucidError.__init__(error, what, remedy)
    return error


def error_named(kind: str, what: str, remedy: str, line: int = 0) -> PellucidError:
    """The error that another process reported, of the same class; InvalidInput if the class is unknown.

    >>> error_named("NotAllowed", "This link is read-only.", "Use the owner link.")
    NotAllowed('This link is read-only.', 'Use the owner link.')
    """
    named = globals().get(kind)
    ours = named if isinstance(named, type) and issubclass(named, PellucidError) else InvalidInput
    error = _rebuild(ours, what, remedy)
    if isinstance(error, ShadingInvalid):
        error.line = line
    return error


class InvalidInput(PellucidError):
    """An invalid argument, option or setting."""


class SceneChanged(InvalidInput):
    """A change was meant for a revision that the scene no longer has."""

    def __init__(self, meant_for: int, revision: int) -> None:
        what = f"The scene changed: this change is for revision {meant_for}, the scene has {revision}."
        super().__init__(what, remedy="Reload the scene and change it again.")


class NotAllowed(PellucidError):
    """An action that this link, token or user has no permission for."""


class TooManyRequests(PellucidError):
    """More requests than a server accepts from clients that are not its owner."""

    is_transient = True


class NotFound(PellucidError):
    """No file, folder or object has that name."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} does not exist.", remedy="Check the spelling and that the disk or bucket is mounted.")


class Unreadable(PellucidError):
    """The operating system or the store did not return the bytes."""

    is_transient = True

    def __init__(self, path: str, why: str) -> None:
        here = "Check its permissions and that the disk is healthy."
        super().__init__(f"Could not read {path}: {why}.", remedy=REMOTE_REMEDY if "://" in path else here)


class UnknownFormat(PellucidError):
    """Neither the content nor the name identifies the format of a file."""

    def __init__(self, path: str, known: Iterable[str]) -> None:
        super().__init__(
            f"The format of {path} was not recognised from its content or its name.",
            remedy=f"Known formats: {', '.join(sorted(known))}. For headerless data pass --shape and --source-dtype.",
        )


class EmptyFile(PellucidError):
    """A file of zero bytes, or a folder with nothing to read in it."""

    def __init__(self, path: str, lacks: str = "") -> None:
        what = f"The folder {path} contains no {lacks}." if lacks else f"{path} is empty."
        super().__init__(what, remedy="Check the path." if lacks else "Write or copy it again.")


class Truncated(PellucidError):
    """A file that is shorter than its header states."""

    def __init__(self, path: str, needs: int, has: int) -> None:
        remedy = "Copy it again, or wait until it is fully written."
        super().__init__(f"{path} is truncated: expected {needs:,} bytes, found {has:,}.", remedy)


class Incomplete(PellucidError):
    """An output whose writer was interrupted."""

    def __init__(self, path: str) -> None:
        remedy = "Run the same command again; it continues where it stopped."
        super().__init__(f"{path} is incomplete: writing it was interrupted.", remedy)


class Corrupted(PellucidError):
    """A file whose bytes are inconsistent."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} is corrupted: {why}.", remedy="Copy it again from its source.")


class WrongDimensions(PellucidError):
    """An array that is not a volume."""

    def __init__(self, path: str, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        super().__init__(
            f"{path} has shape {tuple(shape)}, which is not a volume.",
            remedy="Use an array of three axes (z, y, x), optionally with time and channel before them.",
        )


class DatasetMissing(PellucidError):
    """The container has no dataset of that name."""

    def __init__(self, path: str, name: str, choices: Iterable[str] | Mapping[str, str]) -> None:
        super().__init__(f"{path} has no dataset {name!r}.", remedy=_choose(path, choices))


class DatasetAmbiguous(PellucidError):
    """The container has several volumes, or none, and no name was given.

    choices: names, or names with a description. ``names`` keeps them for callers that go through all of them.
    """

    def __init__(self, path: str, choices: Iterable[str] | Mapping[str, str]) -> None:
        choices = choices if isinstance(choices, Mapping) else list(choices)
        self.names = tuple(choices)
        what = f"{path} contains {len(choices)} volumes." if choices else f"{path} contains no dataset of three axes."
        super().__init__(what, remedy=_choose(path, choices))


def _choose(path: str, choices: Iterable[str] | Mapping[str, str]) -> str:
    named = [f"{name} {what}" for name, what in choices.items()] if isinstance(choices, Mapping) else list(choices)
    if not named:
        return "Choose another file."
    rest = f", and {len(named) - MAX_LISTED} more" if len(named) > MAX_LISTED else ""
    return f"Choose one with {path}:/NAME. Datasets: {', '.join(named[:MAX_LISTED])}{rest}."


class LinkBroken(PellucidError):
    """A link to something that does not exist, often in another file."""

    def __init__(self, path: str, name: str, target: str) -> None:
        super().__init__(
            f"{name} in {path} points to {target}, which is missing.",
            remedy="Restore the linked file next to this one, under its original name.",
        )


class SelectionNeeded(PellucidError):
    """A file over time or channel was opened as one volume."""

    def __init__(self, path: str, times: int, channels: int) -> None:
        example = ",".join(f"{axis}=0" for axis, length in (("t", times), ("c", channels)) if length > 1)
        super().__init__(
            f"{path} contains {times} time steps and {channels} channels, not one volume.",
            remedy=f"Select one with {path}:{example}, or open all of them with pellucid.open_series.",
        )


class SelectionInvalid(PellucidError):
    """A time, channel or level that the file does not have."""

    def __init__(self, path: str, axis: str, request: int, count: int) -> None:
        super().__init__(f"{path} has no {axis} {request}.", remedy=f"Choose a {axis} from 0 to {count - 1}.")


class UnknownCodec(PellucidError):
    """Compressed with a codec that is not installed or not known."""

    def __init__(self, path: str, codec: str, known: Iterable[str] = ()) -> None:
        listed = ", ".join(sorted(known))
        remedy = f"Use one of: {listed}." if listed else "Install its plugin, or write the file with gzip or zstd."
        super().__init__(f"{path} uses the codec {codec!r}, which is not available.", remedy=remedy)


class UnsupportedType(PellucidError):
    """A voxel type that the format, or Pellucid, does not support."""

    def __init__(self, where: str, dtype: object, known: Iterable[str]) -> None:
        what = f"{where} does not support voxels of type {dtype}."
        remedy = f"Convert with --dtype to one of: {', '.join(known)}."
        if str(dtype).lstrip("<>=|").startswith(("complex", "c8", "c16", "c32")):
            what = f"{where}: the values are complex ({dtype}), and voxels must be real numbers."
            remedy = "Save the magnitude, the phase or the real part, such as np.abs(values), and use that."
        super().__init__(what, remedy)


class NotWritable(PellucidError):
    """A format that is read-only, or a path that is not writable."""

    def __init__(self, path: str, why: str, writable: Iterable[str] = ()) -> None:
        listed = ", ".join(sorted(writable))
        place = REMOTE_REMEDY if "://" in path else "Choose a folder that you have permission to write to."
        remedy = f"Use a writable format: {listed}." if listed else place
        super().__init__(f"Could not write {path}: {why}.", remedy=remedy)


class OutputExists(PellucidError):
    """The output exists, and replacing it was not requested."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} already exists.", remedy="Choose another name, or add --overwrite to replace it.")


class DiskFull(PellucidError):
    """No space left while writing; the input is unchanged."""

    def __init__(self, path: str) -> None:
        remedy = "Free some space and run the same command again; it continues where it stopped."
        super().__init__(f"The disk is full: {path} could not be completed. The input is untouched.", remedy)


class NotEnoughMemory(PellucidError):
    """More memory is needed than is available; reported before any work starts."""

    def __init__(self, needs: int, has: int, remedy: str) -> None:
        super().__init__(f"Not enough memory: {size_text(needs)} needed, {size_text(has)} available.", remedy=remedy)


class ChunkConflict(PellucidError):
    """Two blocks would write into one chunk or shard, and one would be lost. Both are (z, y, x)."""

    def __init__(self, block: Sequence[int], chunk: Sequence[int]) -> None:
        remedy = "Make every block edge a multiple of the output's chunk (or shard) edge."
        super().__init__(f"Blocks of {tuple(block)} (z, y, x) would share chunks of {tuple(chunk)}.", remedy=remedy)


class WorkerLost(PellucidError):
    """A worker process died."""

    is_transient = True

    def __init__(self, doing: str, why: str) -> None:
        remedy = "If it ran out of memory, lower the memory budget or the number of processes, then try again."
        super().__init__(f"A worker process died while {doing}: {why}.", remedy)


class BlockLost(PellucidError):
    """A block that was on a device is there no more."""

    is_transient = True

    def __init__(self, worker: str, why: str) -> None:
        super().__init__(f"A block of the Worker {worker} is lost: {why}.", remedy="Compute or read it again.")


class Cancelled(PellucidError):
    """Stopped on request."""

    def __init__(self, doing: str) -> None:
        super().__init__(f"{doing} was cancelled.", remedy="Run the same command again to continue where it stopped.")


class Unreachable(PellucidError):
    """No server responds at an address, or one with another protocol."""

    is_transient = True

    def __init__(self, address: str, why: str) -> None:
        remedy = "Check that it is running, the address and port, and the firewall between the two machines."
        super().__init__(f"Could not reach {address}: {why}.", remedy)


class TokenRejected(PellucidError):
    """The two ends do not have the same token."""

    def __init__(self, address: str) -> None:
        remedy = "Use the token the receiver was started with; nothing was sent."
        super().__init__(f"{address} rejected the token.", remedy=remedy)


class TransferTooLarge(PellucidError):
    """An array above the limit of the receiver; reported before a byte is sent."""

    def __init__(self, announced: int, limit: int) -> None:
        super().__init__(
            f"The array has {size_text(announced)} ({announced:,} bytes), but the receiver accepts at most "
            f"{size_text(limit)} ({limit:,} bytes).",
            remedy="Send a part of it or a smaller type, or start the receiver with a larger limit.",
        )


class TransferProtocolError(PellucidError):
    """The peer violated the transfer protocol, for example with more bytes than it announced."""

    def __init__(self, why: str) -> None:
        remedy = "Check that both ends run the same version of Pellucid."
        super().__init__(f"Transfer protocol error: {why}.", remedy=remedy)


class TransferInterrupted(PellucidError):
    """The connection was lost during a transfer. The receiver keeps what it had before."""

    is_transient = True

    def __init__(self, why: str, done: int = 0, total: int = 0) -> None:
        progress = f" after {size_text(done)} of {size_text(total)}" if total else ""
        super().__init__(
            f"The transfer was interrupted{progress}: {why}.",
            remedy="Check that the peer is running and send again; pieces already received are not resent.",
        )


class ReceiverBusy(PellucidError):
    """The receiver is busy with another array, and rejects further ones meanwhile."""

    is_transient = True

    def __init__(self, name: str) -> None:
        super().__init__(f"The receiver is busy with another array ({name}).", "Try again when it has finished.")


class MissingPackage(PellucidError):
    """An optional package is not installed. extra: the extra of pellucid that installs it, if there is one."""

    def __init__(self, package: str, extra: str = "") -> None:
        wanted = f"'pellucid[{extra}]'" if extra else package
        super().__init__(f"The package {package} is not installed.", remedy=f"Install it with: pip install {wanted}.")


class ViewerUnreachable(PellucidError):
    """A viewer that has ended, or was never at that address."""

    is_transient = True

    def __init__(self, address: str, why: str) -> None:
        remedy = "Start another one with pellucid.start(); pellucid.instances() lists the running ones."
        super().__init__(f"The viewer at {address} does not respond: {why}.", remedy=remedy)


class JobEnded(PellucidError):
    """A viewer or task that ended before it could be used. log: the last lines it wrote."""

    def __init__(self, name: str, why: str, log: Iterable[str] = ()) -> None:
        text = "; ".join(line.strip() for line in log)
        remedy = f"Last lines of its log: {text}" if text else "Start another one."
        super().__init__(f"{name} did not start: {why}", remedy)


class SchedulerUnreachable(PellucidError):
    """The scheduler did not respond. The state of the jobs is unknown; they may be running."""

    is_transient = True

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} did not respond: {why}.", remedy="Try again later; running jobs are not affected.")


class DeviceUnavailable(PellucidError):
    """A device was requested that this machine does not have."""

    def __init__(self, request: str, available: Iterable[str]) -> None:
        super().__init__(f"The device {request!r} is not available.", remedy=f"Use one of: {', '.join(available)}.")


class ShadingInvalid(PellucidError):
    """A user's shading that does not compile. line: in the user's own text, from 1; 0 where it is not known."""

    def __init__(self, line: int, why: str, remedy: str) -> None:
        self.line = line
        where = f"Line {line} of the shading" if line else "The shading does not compile"
        super().__init__(f"{where}: {why}.", remedy=remedy)
