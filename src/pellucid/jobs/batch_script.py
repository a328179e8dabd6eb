"""The text that runs a job: as a batch script on Slurm, and by bash on this machine.

Here: batch_script, a pure function.
Not here: who runs it (local, slurm).

The text can be read by others where a scheduler spools it: no secret is in it, and none in the environment it sets.
"""

import math
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.jobs.job import EXIT, LOG, STARTED, WAITING, Job
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import Site

NAME = "pellucid-{id}"
PLAIN = re.compile(r"[\w.,:/=+@&|*()\[\]-]*")
"""What a value on an #SBATCH line may have: no blank, quote or line break, which would begin another option."""
# bash reacts to a signal only while it waits, and a wait that a signal ends says nothing about the child.
BODY = """
umask 077
cd -- {folder} || exit 1
{exports}asked= child=
trap 'asked=1; kill -TERM "$child" 2>/dev/null' TERM
{{ uname -n; cat /proc/$$/stat; }} >{started}.partial && mv {started}.partial {started}
{turn}{command} </dev/null 9>&- &
child=$!
[ -z "$asked" ] || kill -TERM "$child"
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do
    wait "$child"
    code=$?
done
echo "$code" >{exit}.partial && mv {exit}.partial {exit}
exit "$code"
"""
# What ends the wait ends the job. What runs does not hold on to the lock (9>&- above): something that it leaves behind
# must not keep the others waiting.
TURN = """exec 9>>{turn}
flock 9 &
child=$!
[ -z "$asked" ] || kill -TERM "$child"
wait "$child"
[ -z "$asked" ] || {{ echo {terminated} >{exit}.partial && mv {exit}.partial {exit}; exit {terminated}; }}
rm -f {waiting}
"""
TERMINATED = 128 + signal.SIGTERM


def batch_script(job: Job, site: Site) -> str:
    """The whole script.

    >>> text = batch_script(Job("7f", ("/usr/bin/env", "true"), Path("/scratch/me/7f")), Site(partition="gpu"))
    >>> [line for line in text.splitlines() if "partition" in line]
    ['#SBATCH --partition=gpu']
    """
    head = ["#!/bin/bash", *(f"#SBATCH {option}" for option in options(job, site))]
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(job.environment.items()))
    body = BODY.format(
        folder=shlex.quote(str(job.folder)),
        exports=exports,
        started=STARTED,
        turn=_turn(job.serial_lock),
        exit=EXIT,
        command=shlex.join(job.command),
    )
    return "\n".join(head) + body


def _turn(file: Path | None) -> str:
    if file is None:
        return ""
    return TURN.format(turn=shlex.quote(str(file)), waiting=WAITING, exit=EXIT, terminated=TERMINATED)


def options(job: Job, site: Site) -> Iterator[str]:
    """What sbatch is asked for."""
    wanted = job.resources
    yield f"--job-name={_plain('job', NAME.format(id=job.id))}"
    yield f"--output={_path(job.folder / LOG)}"
    yield "--open-mode=append"
    yield "--export=NONE"
    yield "--no-requeue"
    yield f"--nodes={wanted.nodes}"
    yield f"--time={wanted.minutes or site.time_limit_minutes}"
    yield from _on_one_node(wanted) if wanted.nodes == 1 else _on_several_nodes(wanted)
    if wanted.memory_bytes:
        yield f"--mem={math.ceil(wanted.memory_bytes / wanted.nodes / 2**20)}M"
    for name in ("partition", "account", "constraint"):
        if value := getattr(site, name):
            yield f"--{name}={_plain(name, value)}"
    for option in site.options:
        yield _plain("options", option)


def _on_several_nodes(wanted: Resources) -> Iterator[str]:
    """A task for each GPU: a step of the job starts them."""
    each = max(1, math.ceil(wanted.gpus / wanted.nodes))
    yield f"--ntasks-per-node={each}"
    if wanted.gpus:
        yield f"--gpus-per-node={each}"
    if wanted.cores:
        yield f"--cpus-per-task={math.ceil(wanted.cores / (each * wanted.nodes))}"


def _on_one_node(wanted: Resources) -> Iterator[str]:
    yield "--ntasks=1"
    if wanted.gpus:
        yield f"--gpus={wanted.gpus}"
    if wanted.cores:
        yield f"--cpus-per-task={wanted.cores}"


def _plain(name: str, value: str) -> str:
    if not PLAIN.fullmatch(value):
        remedy = "Use letters, digits and what Slurm options need; no spaces or quotes."
        raise InvalidInput(
            f"The {name} {value!r} contains characters that are not allowed in a batch script.", remedy=remedy
        )
    return value


def _path(path: Path) -> str:
    """A path between quotes, where Slurm replaces what follows a percent sign."""
    text = str(path)
    if set(text) & set('"\\\n\r'):
        remedy = "Set PELLUCID_STATE_FOLDER to a path without quotes, backslashes and line breaks."
        raise InvalidInput(f"Slurm cannot write to {text!r}.", remedy=remedy)
    return '"' + text.replace("%", "%%") + '"'
