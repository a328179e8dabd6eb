"""The registry of a Worker's requests: whatever has no handler is answered with an error."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pellucid.workers.channel import MessageChannel
from pellucid.workers.main import HANDLERS, WorkerMain
from pellucid.workers.protocol import messages, replies, requests
from tests.waiting import TIMEOUT_S


def test_the_render_worker_handles_requests_only() -> None:
    assert set(HANDLERS) <= set(requests.Request.__args__)


@pytest.fixture
def ends() -> Iterator[tuple[WorkerMain, MessageChannel]]:
    """A Worker in this process, whose threads do not run, and the supervisor's end of its channel."""
    own, other = socket.socketpair()
    with closing(MessageChannel(other)) as supervisor, closing(MessageChannel(own)) as channel:
        yield WorkerMain(channel, "cpu"), supervisor


@pytest.mark.parametrize(
    ("message", "request_number", "what"),
    [
        ({"kind": "Juggle", "content": {"request": 7}}, 7, "'Juggle' is neither a request nor a reply of a Worker."),
        (messages.to_message(replies.Done(8)), 8, "A Worker does not handle 'Done'."),
        ({"kind": "Inspect", "content": {"request": 9, "colour": "red"}}, 9, "Unknown field 'colour' in Inspect."),
        ({"kind": "Juggle", "content": {}}, -1, "'Juggle' is neither a request nor a reply of a Worker."),
    ],
)
def test_what_no_handler_takes_is_answered_with_an_error(
    message: dict[str, Any], request_number: int, what: str, ends: tuple[WorkerMain, MessageChannel]
) -> None:
    worker, supervisor = ends
    worker._dispatch(message, None)
    answer = messages.from_message(supervisor.receive(TIMEOUT_S)[0])
    assert (answer.request, answer.kind, answer.what) == (request_number, "InvalidInput", what)


def test_an_array_without_its_memory_is_refused(ends: tuple[WorkerMain, MessageChannel]) -> None:
    worker, supervisor = ends
    command = requests.AddArray(4, "memory:a", (2, 2, 2), "<f4", (1.0, 1.0, 1.0), "")
    worker._dispatch(json.loads(json.dumps(messages.to_message(command))), None)
    worker.drawing._next()()
    answer = messages.from_message(supervisor.receive(TIMEOUT_S)[0])
    assert (answer.request, answer.what) == (4, "The array 'memory:a' came without its memory.")
