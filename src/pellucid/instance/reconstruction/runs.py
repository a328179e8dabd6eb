"""Reconstructing the volume of a scan in the background: a command with a recipe file, as a task.

Here: start, and the log of what was started.
Not here: what it does (tomo, by way of the command line), trying settings before (previews), the process (command_run),
the same through the agent (agent_run).

The command does what the shown one does. Stopped, or left by a viewer that ends, it can be started again and goes on
where it was.
"""

from dataclasses import replace
from pathlib import Path

from pellucid.dataclass_json import check_storable
from pellucid.errors import NotFound, OutputExists
from pellucid.formats.location import Location
from pellucid.instance.protocol.reconstruction import ReconstructionRequest
from pellucid.instance.reconstruction.agent_run import AgentRun
from pellucid.instance.reconstruction.command_run import CommandRun, log_file
from pellucid.instance.reconstruction.previews import checked_scan
from pellucid.instance.reconstruction.run_time import TimeLeft
from pellucid.instance.session import Session
from pellucid.instance.tasks.runner import CommandRequest, CommandRunner
from pellucid.tomo.command_line import (
    OutputArguments,
    ReconstructionParameters,
    arguments,
    arguments_of_files,
    recipe_text,
    shell_line,
)

WHAT = "The reconstruction"
LOG_BYTES = 256 * 1024


def command(session: Session, request: ReconstructionRequest) -> list[str]:
    """What the process is started with, behind ``pellucid``."""
    source = checked_scan(session.roots, request.path, request.options)
    target = session.roots.require_allowed(request.output)
    return arguments(source, target, ReconstructionParameters(request.options, request.recipe), _output(request))


def _output(request: ReconstructionRequest) -> OutputArguments:
    return OutputArguments(request.is_replaced, request.rows, request.crop)


def command_text(session: Session, request: ReconstructionRequest) -> str:
    return shell_line(command(session, request))


def start(session: Session, request: ReconstructionRequest) -> str:
    """Begin; the id of the task."""
    check_storable(request, "the request")
    source = checked_scan(session.roots, request.path, request.options)
    target = session.roots.require_allowed(request.output)
    if not request.is_replaced and Path(target).exists():
        raise OutputExists(request.output)
    name = f"Reconstructing {Location.parse(request.path).name}"
    words = arguments_of_files(source, target, _output(request))
    recipe = recipe_text(ReconstructionParameters(request.options, request.recipe))
    if session.runner is None:
        run: CommandRun | AgentRun = CommandRun(words, recipe, session, WHAT, is_watched=request.is_watched)
    else:
        request = replace(request, is_watched=request.is_watched and session.runner.is_here)
        run = _agent_run(session, session.runner, CommandRequest(name, tuple(words), {"--recipe": recipe}), request)
    run.left = _time_left(session, request)

    async def work(id: str) -> None:
        run.left.begin()
        await run.carry_out(id, session.tasks)
        if run.left.expected is not None:
            session.drafts.times.ended(request.recipe, run.left.elapsed, run.left.expected)

    task = session.tasks.start(name, work, run.stop)
    session.drafts.run_started(request, task)
    session.broadcast(session.drafts.message(), "own")
    return task


def _time_left(session: Session, request: ReconstructionRequest) -> TimeLeft:
    facts = session.previews.facts.get(request.path)
    if facts is None:
        return TimeLeft(None)
    return TimeLeft(session.drafts.times.expected_s(facts, request.recipe, request.rows, session.relay.device))


def _agent_run(
    session: Session, runner: CommandRunner, command: CommandRequest, request: ReconstructionRequest
) -> AgentRun:
    """Slices are shown only where it starts at once: the address of a viewer does not hold for long."""
    device = ("--device", session.relay.device) if runner.is_here else ()
    files = {**command.files, **({"--view": session.owner_url()} if request.is_watched else {})}
    command = replace(command, arguments=(*command.arguments, *device), files=files, readable=session.roots.readable)
    return AgentRun(runner, command, session.tasks.folder, WHAT)


def log_of(session: Session, task: str) -> str:
    """What the process of a task has written, the end of it."""
    session.tasks.status(task)
    path = log_file(session.tasks.folder, task)
    if path.is_symlink() and not path.exists():  # The agent has not started it yet.
        return ""
    if not path.exists():
        raise NotFound(f"The log of the task {task}")
    return path.read_text(errors="replace")[-LOG_BYTES:]
