"""``pellucid start``, ``run``, ``list``, ``show``, ``stop``, ``logs``, ``open``: the viewers and tasks of a user.

Here: these commands' arguments, and what they print.
Not here: the agent that does it (agent), requests to it (client.agent_client).
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pellucid.cli.arguments import add_device, bytes_argument, count_argument, number_argument, shape_argument
from pellucid.cli.browser import has_browser, open_browser
from pellucid.client.agent_client import AgentClient
from pellucid.client.job_viewers import PendingViewer, request_viewer
from pellucid.errors import InvalidInput
from pellucid.instance.lifecycle.viewer_records import running_viewers
from pellucid.jobs.job_state import OVER
from pellucid.jobs.site import OVERRIDES

CHOICES = {
    "partition": "partition of Slurm",
    "account": "account of Slurm to which the time is charged",
    "constraint": "features that the node must have, as Slurm's --constraint takes them",
    "scheduler": "local (this machine) or slurm",
}
ASK_AGAIN_S = 30.0


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    _add_start(commands)
    _add_run(commands)
    listing = commands.add_parser("list", help="list your viewers and tasks")
    listing.add_argument("--all", action="store_true", help="include those that have ended")
    listing.set_defaults(run=show_list)
    for name, run, what in (
        ("show", show, "show all details of a viewer or task"),
        ("stop", stop, "stop a viewer or task, or remove it from the queue"),
        ("logs", logs, "print the log of a viewer or task"),
    ):
        parser = commands.add_parser(name, help=what)
        parser.add_argument("id", nargs="+", help="ID from pellucid list, or its first letters")
        parser.set_defaults(run=run)
    opening = commands.add_parser("open", help="open a running viewer, or the page that lists them all, in the browser")
    opening.add_argument("id", nargs="?", help="ID from pellucid list")
    opening.add_argument("--no-browser", action="store_true", help="only print the address")
    opening.set_defaults(run=open_page)


def _add_start(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("start", help="start a viewer that keeps running after this command, here or on Slurm")
    parser.add_argument("source", nargs="?", help="file to show first")
    parser.add_argument(
        "--gpus", default="auto", help="number of GPUs; auto (default) estimates it from --shape and --dtype"
    )
    parser.add_argument("--shape", type=shape_argument, metavar="Z,Y,X", help="shape of the volume that will be shown")
    parser.add_argument("--dtype", default="float32", help="its voxel type (default: float32)")
    add_device(parser)
    parser.add_argument(
        "--root", action="append", default=[], metavar="FOLDER", help="folder whose files may be opened; repeatable"
    )
    parser.add_argument(
        "--idle-timeout",
        type=number_argument,
        default=60.0,
        metavar="MINUTES",
        help="stop after this many minutes without use (default: 60)",
    )
    parser.add_argument("--state", default="", metavar="NAME", help="show a saved state, given by its name or file")
    parser.add_argument("--no-wait", action="store_true", help="do not wait until the viewer runs")
    _add_place(parser)
    parser.set_defaults(run=start)


def _add_run(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("run", help="run another command as a task, here or on Slurm: run -- convert IN OUT")
    parser.add_argument("--gpus", type=int, default=0, help="number of GPUs (default: 0)")
    parser.add_argument("--wait", action="store_true", help="wait until the task ends; the exit code is 1 if it failed")
    parser.add_argument(
        "--each", nargs="+", default=[], metavar="FILE",
        help="run one task per file: run --each *.tif -- convert {file} {stem}.zarr",
    )  # fmt: skip
    _add_place(parser)
    parser.add_argument("arguments", nargs="+", metavar="COMMAND", help="command and its arguments")
    parser.set_defaults(run=run_task)


def _add_place(parser: argparse.ArgumentParser) -> None:
    """Options that viewers and tasks share."""
    parser.add_argument("--name", default="", help="name shown in the list")
    parser.add_argument("--memory", type=bytes_argument, default=0, help="memory, such as 64GiB (default: estimated)")
    parser.add_argument("--cores", type=count_argument, default=0, help="number of CPU cores")
    place = parser.add_argument_group("job options, as far as the site allows them")
    for name, meaning in CHOICES.items():
        place.add_argument(f"--{name}", help=meaning)
    place.add_argument("--time", dest="time_limit_minutes", type=count_argument, metavar="MINUTES", help="time limit")


def start(options: argparse.Namespace) -> int:
    requested: dict[str, Any] = {
        name: getattr(options, name) for name in ("dtype", "name", "cores", "state")
    } | _overrides(options)
    requested |= {"memory": options.memory, "gpus": options.gpus if options.gpus == "auto" else _gpus(options.gpus)}
    roots = list(options.root)
    if options.shape is not None:
        requested["shape"] = options.shape
    if options.source is not None:
        requested["source"] = str(Path(options.source).expanduser().absolute())
        roots.append(str(Path(requested["source"]).parent))
    pending = request_viewer(requested, device=options.device, roots=roots, idle_timeout_minutes=options.idle_timeout)  # type: ignore[arg-type]
    if options.no_wait:
        print(_line(_agent().job(pending.id)))
        return 0
    print(pending.wait().url)
    return 0


def run_task(options: argparse.Namespace) -> int:
    agent = AgentClient.find_or_start()
    request: dict[str, Any] = {
        "arguments": options.arguments, "folder": str(Path.cwd()), "gpus": options.gpus,
        "memory_bytes": options.memory, "cores": options.cores, "overrides": _overrides(options),
    }  # fmt: skip
    if options.each:
        started = agent.run_batch(request | {"files": [str(Path(file).absolute()) for file in options.each]})
    else:
        started = [agent.run(request | {"name": options.name})]
    ended = [_waited_for(agent, reply) if options.wait else reply for reply in started]
    for reply in ended:
        print(_line(reply))
    return int(any(reply["state"]["phase"] in ("failed", "lost") for reply in ended))


def _waited_for(agent: AgentClient, reply: dict[str, Any]) -> dict[str, Any]:
    while reply["state"]["phase"] not in OVER:
        reply = agent.job(reply["id"], reply["state"]["phase"], ASK_AGAIN_S)
    return reply


def show_list(options: argparse.Namespace) -> int:
    agent = AgentClient.find_or_resume()
    reply = [] if agent is None else agent.jobs()
    shown = [one for one in reply if options.all or one["state"]["phase"] not in OVER]
    ports = {one["port"] for one in reply}
    own = [one for one in running_viewers() if urlsplit(one.address).port not in ports]
    for one in shown:
        print(_line(one))
    for record in own:
        print(f"{'-':<12}viewer  running   started by process {record.pid}, ends with it")
    if not shown and not own:
        print("Nothing is running.")
    return 0


def show(options: argparse.Namespace) -> int:
    for one in _named(options.id):
        print(json.dumps({name: value for name, value in one.items() if name not in ("path", "port")}, indent=2))
    return 0


def stop(options: argparse.Namespace) -> int:
    for one in _named(options.id):
        _agent().cancel(one["id"])
        PendingViewer(_agent(), one).wait_until_ended()
        print(_line(_agent().job(one["id"])))
    return 0


def logs(options: argparse.Namespace) -> int:
    for one in _named(options.id):
        print(_agent().log(one["id"]), end="")
    return 0


def open_page(options: argparse.Namespace) -> int:
    agent = AgentClient.find_or_start()
    id = "" if options.id is None else str(_named([options.id])[0]["id"])
    print(agent.link(id) if id else agent.url)
    if not options.no_browser and has_browser():
        open_browser(agent.link(id) if id else agent.url)
    return 0


def _agent() -> AgentClient:
    agent = AgentClient.find_or_resume()
    if agent is None:
        raise InvalidInput("Nothing is running.", remedy="Start a viewer with pellucid start.")
    return agent


def _named(names: list[str]) -> list[dict[str, Any]]:
    """What is meant by the first letters of ids."""
    jobs, found = _agent().jobs(), []
    for name in names:
        meant = [one for one in jobs if one["id"].startswith(name)]
        if len(meant) != 1:
            known = ", ".join(one["id"] for one in meant or jobs) or "none"
            raise InvalidInput(
                f"{name!r} matches {len(meant)} viewers and tasks, not one.", remedy=f"Use one of: {known}."
            )
        found += meant
    return found


def _overrides(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name in OVERRIDES if (value := getattr(options, name, None)) is not None}


def _gpus(text: str) -> int:
    if not text.isdecimal():
        raise InvalidInput(f"Invalid number of GPUs: {text!r}.", remedy="Use a whole number or auto.")
    return int(text)


def _line(reply: dict[str, Any]) -> str:
    """One line of the list."""
    state, progress = reply["state"], reply["progress"]
    parts = [reply["name"], state["reason"].rstrip(".")]
    if state["place"]:
        parts.append(f"place {state['place']}")
    if state["expected_start"]:
        parts.append(f"expected {time.strftime('%d %b %H:%M', time.localtime(state['expected_start']))}")
    if progress is not None and state["phase"] not in OVER:
        parts.append(progress["text"])
    return f"{reply['id']:<12}{reply['kind']:<8}{state['phase']:<10}" + ", ".join(part for part in parts if part)
