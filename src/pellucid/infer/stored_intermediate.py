"""Chains that store their intermediate volume, the result of all networks but the last.

Here: ChainStart, run_earlier_networks.
Not here: chains that store nothing between (job), the networks themselves (apply).

Beside the volume lies ``NAME.networks.json``, which says what made it. The same command uses a complete one again.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.local_files import write_whole
from pellucid.formats.location import Location
from pellucid.infer.job import InferenceOptions, NetworkFile, Source
from pellucid.infer.loading import load_network
from pellucid.infer.report import InferenceReport, NetworkReport
from pellucid.volume.volume import Volume

Run = Callable[[Source, Location, NetworkFile, InferenceOptions], tuple[Volume, InferenceReport]]


@dataclass(frozen=True)
class ChainStart:
    """What the last network begins with. reports: of the networks that ran before."""

    source: Source
    options: InferenceOptions
    reports: tuple[NetworkReport, ...] = ()


def run_earlier_networks(source: Source, options: InferenceOptions, run: Run) -> ChainStart:
    """Have the networks before the last one write their volume, if it is to be stored and is not there yet.

    run: applies a network, whose output has one channel, and writes its values.
    """
    if options.intermediate is None:
        return ChainStart(source, options)
    if not options.after:
        raise InvalidInput(
            "--intermediate needs a chain of networks.", remedy="Pass --after too, or leave out --intermediate."
        )
    intermediate = Location.parse(options.intermediate).absolute
    if intermediate.is_remote or intermediate.is_memory:
        raise InvalidInput(
            f"The intermediate volume {intermediate} is not a local file.", remedy="Use a local file or folder."
        )
    last = InferenceOptions(
        window=options.window, levels=options.levels, chunk=options.chunk, codec=options.codec, device=options.device
    )
    made_by, record = (
        _made_by(source, options),
        intermediate.local.with_name(f"{intermediate.local.name}.networks.json"),
    )
    reports: tuple[NetworkReport, ...] = ()
    if not _is_complete(intermediate, record, made_by):
        *before, network = options.after
        earlier = replace(options, after=tuple(before), intermediate=None, window=None, levels=1)
        volume, report = run(source, intermediate, network, earlier)
        volume.close()
        reports = report.networks
        facts = {
            "made by": made_by,
            "networks": [str(one.path) for one in options.after],
            "files": fingerprint(intermediate),
        }
        write_whole(record, json.dumps(facts, indent=1) + "\n")
    return ChainStart(str(intermediate), last, reports)


def _made_by(source: Source, options: InferenceOptions) -> str:
    """Of everything on which the intermediate voxels depend."""
    inputs = (source, *options.also)
    places = [one.location if isinstance(one, Volume) else Location.parse(one).absolute for one in inputs]
    networks = [(load_network(one.path, one.form).digest, one.form) for one in options.after]
    facts = (
        list(map(str, places)),
        list(map(fingerprint, places)),
        networks,
        options.box,
        options.level,
        options.chunk,
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _is_complete(intermediate: Location, record: Path, made_by: str) -> bool:
    try:
        found = json.loads(record.read_text())
    except (OSError, ValueError, RecursionError):
        return False
    is_there = isinstance(found, dict) and intermediate.local.exists()
    return is_there and found.get("made by") == made_by and found.get("files") == fingerprint(intermediate)
