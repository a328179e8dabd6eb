"""Arrays from and to programs on this machine, without HTTP: shared memory is passed over a Unix socket.

Here: LocalSocketServer, a Unix socket that takes and gives descriptors of memory, and opens files.
Not here: the same over HTTP (routes.sources), other machines (transport).

A program sends one message of a Line, {"token": ...} with one of

    "offer": fields of ArrayOffer; the descriptor of a memory file comes along     -> {"revision": N}
    "load": fields of LoadRequest                                                  -> {"revision": N}
    "allow": the path of a file, whose folder may be read from then on             -> {}
    "retrieve": {"layer": N, "box": "z0:z1,y0:y1,x0:x1" or ""}  -> {"shape": [...], "dtype": ...}, and a descriptor

or {"kind": ..., "what": ..., "remedy": ..., "line": N}. A process that can enter the socket's folder belongs to the
viewer's user, so that ``load`` opens whatever that user can, and lets the page open its folder from then on.
"""

import os
import secrets
import socket
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from pellucid.errors import InvalidInput, NotAllowed, PellucidError
from pellucid.formats.location import Location
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.arrays.uploads import map_descriptor
from pellucid.instance.process import error_body
from pellucid.instance.protocol.codec import first_error
from pellucid.instance.protocol.http_bodies import ArrayOffer, LoadRequest
from pellucid.instance.scene.loading import load, retrieve, show_array
from pellucid.instance.session import Session
from pellucid.workers.channel import MessageChannel

TIMEOUT_S = 60.0
_OFFER: TypeAdapter[ArrayOffer] = TypeAdapter(ArrayOffer)
_LOAD: TypeAdapter[LoadRequest] = TypeAdapter(LoadRequest)


class LocalSocketServer:
    """Listens from a folder that only its owner can enter."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._path = session.socket_folder / "arrays.socket"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self._path))
        self._listener.listen()
        session.socket = str(self._path)
        self._thread = threading.Thread(target=self._accept, name="pellucid-handover", daemon=True)
        self._thread.start()

    def close(self) -> None:
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        finally:
            self._listener.close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(MessageChannel(connection),), daemon=True).start()

    def _serve(self, line: MessageChannel) -> None:
        try:
            message, descriptor = line.receive(TIMEOUT_S)
            answer, shared = self._answer(message, descriptor)
            line.send(answer, None if shared is None else shared.descriptor)
        except (EOFError, OSError, ValueError):
            pass
        finally:
            line.close()

    def _answer(self, message: dict[str, Any], descriptor: int | None) -> tuple[dict[str, Any], SharedArray | None]:
        memory = _Descriptor(descriptor)
        try:
            self._check(message)
            if "retrieve" in message:
                return self._give(message["retrieve"])
            if "allow" in message:
                self._session.roots.add(Path(str(message["allow"])).absolute().parent)
                return {}, None
            revision = self._load(message["load"]) if "load" in message else self._take(message.get("offer"), memory)
            return {"revision": revision}, None
        except ValidationError as error:
            what = f"Invalid request: {first_error(error)}."
            return error_body(
                InvalidInput(what, remedy="Use the same version of Pellucid for the viewer and the program.")
            ), None
        except PellucidError as error:
            return error_body(error), None
        finally:
            memory.close()

    def _check(self, message: dict[str, Any]) -> None:
        given = str(message.get("token", "")).encode()
        known = self._session.access.transfer_tokens
        if not any(secrets.compare_digest(given, one.encode()) for one in known):
            raise NotAllowed("This token does not allow sending arrays.", remedy="Use the owner link.")

    def _take(self, offered: object, memory: "_Descriptor") -> int:
        offer = _OFFER.validate_python(offered)
        self._session.arrays.check(offer)
        handed = map_descriptor(offer, memory.taken())
        return self._session.relay.wait_for(
            show_array(self._session, uuid4().hex, handed, offer.how, offer.name or "array")
        )

    def _load(self, wanted: object) -> int:
        request = _LOAD.validate_python(wanted)
        location = Location.parse(request.path)
        if not location.is_remote:
            self._session.roots.add(location.local.absolute().parent)
        return self._session.relay.wait_for(load(self._session, str(location.absolute), request.how)).revision

    def _give(self, wanted: dict[str, Any]) -> tuple[dict[str, Any], SharedArray]:
        shared = self._session.relay.wait_for(
            retrieve(self._session, int(wanted.get("layer", 0)), str(wanted.get("box", "")))
        )
        return {"shape": shared.shape, "dtype": shared.dtype.str}, shared


class _Descriptor:
    """A received descriptor: closed at the end, unless it was taken."""

    def __init__(self, number: int | None) -> None:
        self._number = number

    def taken(self) -> int:
        if self._number is None:
            raise InvalidInput(
                "The request contains no shared memory.", remedy="Send the file descriptor with the request."
            )
        number, self._number = self._number, None
        return number

    def close(self) -> None:
        if self._number is not None:
            os.close(self._number)
