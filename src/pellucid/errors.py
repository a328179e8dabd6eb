"""Every error a user can meet: what happened, and what to do about it.

Here: the error classes, and the sentence each one says.
Not here: when to raise them (the layer that finds the fault), how to print them (cli).
"""

from collections.abc import Iterable, Mapping, Sequence

from pellucid.printable import printable

MOST_LISTED = 20
REMOTE_REMEDY = "Check the address, AWS_ENDPOINT_URL, the credentials and the network."


class PellucidError(Exception):
    """An error that says what happened and what to do.

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
    """The error that another process told of, as one of the same class; InvalidInput where there is none here.

    >>> error_named("NotAllowed", "The door is closed.", "Knock.")
    NotAllowed('The door is closed.', 'Knock.')
    """
    named = globals().get(kind)
    ours = named if isinstance(named, type) and issubclass(named, PellucidError) else InvalidInput
    error = _rebuild(ours, what, remedy)
    if isinstance(error, ShadingInvalid):
        error.line = line
    return error


class InvalidInput(PellucidError):
    """An argument, option or setting that cannot mean anything."""


class NotAllowed(PellucidError):
    """Something that this link, token or person may not do."""


class TooManyRequests(PellucidError):
    """More at once, or more often, than a server does for those who are not its owner."""

    is_transient = True


class NotFound(PellucidError):
    """No file, folder or object by that name."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"There is nothing at {path}.", remedy="Check the spelling and that the disk or bucket is mounted."
        )


class Unreadable(PellucidError):
    """The operating system or the store refused to hand over the bytes."""

    is_transient = True

    def __init__(self, path: str, why: str) -> None:
        here = "Check its permissions and that the disk is healthy."
        super().__init__(f"{path} cannot be read: {why}.", remedy=REMOTE_REMEDY if "://" in path else here)


class UnknownFormat(PellucidError):
    """Neither content nor name says what kind of file it is."""

    def __init__(self, path: str, known: Iterable[str]) -> None:
        super().__init__(
            f"{path} is in no format known here, by content or by name.",
            remedy=f"Known: {', '.join(sorted(known))}. For headerless data give --shape and --source-dtype.",
        )


class EmptyFile(PellucidError):
    """Zero bytes, or a folder with nothing to read in it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is empty.", remedy="The program that wrote it failed: write or copy it again.")


class Truncated(PellucidError):
    """Shorter than its header promises."""

    def __init__(self, path: str, needs: int, has: int) -> None:
        super().__init__(
            f"{path} is cut short: its header promises {needs:,} bytes and {has:,} are there.",
            remedy="Copy it again, or wait until it is written completely.",
        )


class Incomplete(PellucidError):
    """An output whose writer never came to the end."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} was begun and never finished.",
            remedy="Give the command that wrote it again: it continues where it stopped.",
        )


class Corrupted(PellucidError):
    """The bytes contradict themselves."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} is damaged: {why}.", remedy="Copy it again from where it was written.")


class WrongDimensions(PellucidError):
    """An array that is not a volume."""

    def __init__(self, path: str, shape: Sequence[int]) -> None:
        super().__init__(
            f"{path} has shape {tuple(shape)}, which is not a volume.",
            remedy="A volume has three axes (z, y, x), optionally with time and channel before them.",
        )


class DatasetMissing(PellucidError):
    """The container has no dataset by that name."""

    def __init__(self, path: str, name: str, choices: Iterable[str] | Mapping[str, str]) -> None:
        super().__init__(f"{path} has no dataset {name!r}.", remedy=_choose(path, choices))


class DatasetAmbiguous(PellucidError):
    """The container has several volumes, or none, and no name was given.

    choices: names, or names with what is there. ``names`` keeps them for whoever wants to go through all.
    """

    def __init__(self, path: str, choices: Iterable[str] | Mapping[str, str]) -> None:
        choices = choices if isinstance(choices, Mapping) else list(choices)
        self.names = tuple(choices)
        what = f"{path} holds {len(choices)} volumes." if choices else f"{path} holds no dataset of three axes."
        super().__init__(what, remedy=_choose(path, choices))


def _choose(path: str, choices: Iterable[str] | Mapping[str, str]) -> str:
    named = [f"{name} {what}" for name, what in choices.items()] if isinstance(choices, Mapping) else list(choices)
    if not named:
        return "Choose another file."
    rest = f", and {len(named) - MOST_LISTED} more" if len(named) > MOST_LISTED else ""
    return f"Choose one by {path}:/NAME; there are: {', '.join(named[:MOST_LISTED])}{rest}."


class LinkBroken(PellucidError):
    """A name that points to something which is not there, often in another file."""

    def __init__(self, path: str, name: str, target: str) -> None:
        super().__init__(
            f"{name} in {path} points to {target}, which is missing.",
            remedy="Put the file that it names beside this one, as it was when it was written.",
        )


class SelectionNeeded(PellucidError):
    """A file over time or channel was opened as one volume."""

    def __init__(self, path: str, times: int, channels: int) -> None:
        example = ",".join(f"{axis}=0" for axis, length in (("t", times), ("c", channels)) if length > 1)
        super().__init__(
            f"{path} holds {times} time steps and {channels} channels, not one volume.",
            remedy=f"Select one by {path}:{example}, or open all of them with pellucid.open_series.",
        )


class SelectionInvalid(PellucidError):
    """A time, channel or level that the file does not have."""

    def __init__(self, path: str, axis: str, request: int, count: int) -> None:
        super().__init__(f"{path} has no {axis} {request}.", remedy=f"Choose a {axis} from 0 to {count - 1}.")


class UnknownCodec(PellucidError):
    """Compressed by something that is not installed or not known."""

    def __init__(self, path: str, codec: str, known: Iterable[str] = ()) -> None:
        listed = ", ".join(sorted(known))
        remedy = f"Known: {listed}." if listed else "Install the plugin for it, or write the file with gzip or zstd."
        super().__init__(f"{path} uses the codec {codec!r}, which is not available here.", remedy=remedy)


class UnsupportedType(PellucidError):
    """A voxel type that the format, or Pellucid, cannot hold."""

    def __init__(self, where: str, dtype: object, known: Iterable[str]) -> None:
        what = f"{where} cannot hold voxels of type {dtype}."
        remedy = f"Convert with --dtype to one of: {', '.join(known)}."
        if str(dtype).lstrip("<>=|").startswith(("complex", "c8", "c16", "c32")):
            what = f"{where}: the values are complex ({dtype}), and voxels must be real numbers."
            remedy = "Save the magnitude, the phase or the real part, such as np.abs(values), and use that."
        super().__init__(what, remedy)


class NotWritable(PellucidError):
    """A format that is only read, or a place that cannot be written."""

    def __init__(self, path: str, why: str, writable: Iterable[str] = ()) -> None:
        listed = ", ".join(sorted(writable))
        place = REMOTE_REMEDY if "://" in path else "Choose a folder that you may write to."
        remedy = f"Writable formats: {listed}." if listed else place
        super().__init__(f"{path} cannot be written: {why}.", remedy=remedy)


class OutputExists(PellucidError):
    """The output is already there, and was not asked to be replaced."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} exists already.", remedy="Choose another name, or add --overwrite to replace it.")


class DiskFull(PellucidError):
    """No space left while writing; the input is as it was."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The disk is full: {path} could not be completed. The input is untouched.",
            remedy="Free some space and give the same command again: it continues where it stopped.",
        )


class NotEnoughMemory(PellucidError):
    """More memory than there is; said before anything was started."""

    def __init__(self, needs: int, has: int, remedy: str) -> None:
        super().__init__(f"This needs {_size(needs)} of memory and {_size(has)} may be used.", remedy=remedy)


def _size(count: int) -> str:
    for unit, bytes_ in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= bytes_:
            return f"{count / bytes_:,.1f} {unit}"
    return f"{count} bytes"


class ChunkConflict(PellucidError):
    """Two blocks would write into one chunk or shard, and one would be lost."""

    def __init__(self, block: Sequence[int], chunk: Sequence[int]) -> None:
        remedy = "Make every block edge a multiple of the output's chunk (or shard) edge."
        super().__init__(f"Blocks of {tuple(block)} voxels would share chunks of {tuple(chunk)}.", remedy=remedy)


class WorkerLost(PellucidError):
    """A process that was working for us died."""

    is_transient = True

    def __init__(self, doing: str, why: str) -> None:
        super().__init__(
            f"A worker process was lost while {doing}: {why}.",
            remedy="If memory ran out, lower the memory budget or the number of processes; then try again.",
        )


class Cancelled(PellucidError):
    """Stopped on request."""

    def __init__(self, doing: str) -> None:
        super().__init__(f"{doing} was cancelled.", remedy="Give the same command again to continue where it stopped.")


class Unreachable(PellucidError):
    """Nobody answers at an address, or somebody who does not speak our language."""

    is_transient = True

    def __init__(self, address: str, why: str) -> None:
        super().__init__(
            f"{address} cannot be reached: {why}.",
            remedy="Check that it is running there, the address and port, and the firewall between the two machines.",
        )


class TokenRejected(PellucidError):
    """The two ends do not hold the same token."""

    def __init__(self, address: str) -> None:
        remedy = "Give the token that the receiving end was started with; nothing was sent."
        super().__init__(f"{address} does not hold the same token.", remedy=remedy)


class TransferTooLarge(PellucidError):
    """More than the receiving end was started for; said before a byte is sent."""

    def __init__(self, announced: int, limit: int) -> None:
        super().__init__(
            f"The array has {_size(announced)} ({announced:,} bytes), and the receiving end takes at most "
            f"{_size(limit)} ({limit:,} bytes).",
            remedy="Send a part of it or a smaller type, or start the receiving end for more.",
        )


class TransferProtocolError(PellucidError):
    """The other end broke the rules of a transfer, such as more bytes than it announced."""

    def __init__(self, why: str) -> None:
        remedy = "Check that both ends have the same version."
        super().__init__(f"The other end broke the rules of the transfer: {why}.", remedy=remedy)


class TransferInterrupted(PellucidError):
    """The connection went away in the middle. What the receiving end had before is as it was."""

    is_transient = True

    def __init__(self, why: str, done: int = 0, total: int = 0) -> None:
        kept = f" after {_size(done)} of {_size(total)}" if total else ""
        super().__init__(
            f"The transfer broke off{kept}: {why}.",
            remedy="Check that the other end is running, and send again: pieces that arrived are not sent twice.",
        )


class ReceiverBusy(PellucidError):
    """The receiving end is taking another array, and was told to refuse meanwhile."""

    is_transient = True

    def __init__(self, name: str) -> None:
        remedy = "Send again when that one has arrived."
        super().__init__(f"The receiving end is taking another array ({name}).", remedy=remedy)


class MissingPackage(PellucidError):
    """An optional part that is not installed. extra: the name it has among our extras, if it has one."""

    def __init__(self, package: str, extra: str = "") -> None:
        wanted = f"'pellucid[{extra}]'" if extra else package
        super().__init__(f"This needs the package {package}.", remedy=f"Install it with: pip install {wanted}.")


class ViewerUnreachable(PellucidError):
    """A viewer that has ended, or never was at that address."""

    is_transient = True

    def __init__(self, address: str, why: str) -> None:
        remedy = "Start another with pellucid.start(); pellucid.instances() lists those that run."
        super().__init__(f"The viewer at {address} does not answer: {why}.", remedy=remedy)


class JobEnded(PellucidError):
    """A viewer or task that ended before it could be used. log: the last lines that it wrote."""

    def __init__(self, name: str, why: str, log: Iterable[str] = ()) -> None:
        text = "; ".join(line.strip() for line in log)
        super().__init__(f"{name} will not start. {why}", remedy=f"Its log ends: {text}" if text else "Start another.")


class SchedulerUnreachable(PellucidError):
    """The scheduler could not be asked. Nothing is known about the jobs; they may well run."""

    is_transient = True

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} cannot be asked: {why}.", remedy="Jobs go on meanwhile. Try again in a while.")


class DeviceUnavailable(PellucidError):
    """A device was asked for that this machine does not have."""

    def __init__(self, request: str, available: Iterable[str]) -> None:
        super().__init__(f"There is no device {request!r} here.", remedy=f"Available: {', '.join(available)}.")


class ShadingInvalid(PellucidError):
    """A user's shading that does not compile. line: in the user's own text, from 1; 0 where it is not known."""

    def __init__(self, line: int, why: str, remedy: str) -> None:
        self.line = line
        where = f"Line {line} of the shading" if line else "The shading does not compile"
        super().__init__(f"{where}: {why}.", remedy=remedy)
