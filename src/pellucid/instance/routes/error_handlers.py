"""Errors of a route as answers.

Here: add_error_handlers, for the applications of an instance and of the agent.
Not here: what guests may see of an error (access.redaction), refusals before a route is reached (access.route_rules).
"""

import logging
from collections.abc import Callable, Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.system_errors import system_error
from pellucid.instance.access.refusal_page import refusal_response

log = logging.getLogger(__name__)
Redact = Callable[[Request, PellucidError], PellucidError]


def add_error_handlers(
    app: FastAPI,
    statuses: Mapping[type[PellucidError], int],
    remedy: str,
    redact: Redact = lambda _, error: error,
) -> None:
    """Every error as a status and an ErrorBody.

    statuses: of our errors; 400 for others. remedy: for requests that do not fit a route. redact: what a requester
    may see of an error.
    """

    @app.exception_handler(PellucidError)
    async def refused(request: Request, error: PellucidError) -> Response:
        status = next((code for kind, code in statuses.items() if isinstance(error, kind)), 400)
        return refusal_response(request.scope, redact(request, error), status)

    @app.exception_handler(OSError)
    async def failed(request: Request, error: OSError) -> Response:
        """A full or closed disk, wherever a route writes or reads."""
        if request.scope["type"] == "websocket":  # It left before it was accepted; the server expects this error.
            raise error
        log.warning("%s %s: %s", request.method, request.url.path, error)
        return await refused(request, system_error(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        what = f"Invalid request: {place}: {first['msg']}."
        return refusal_response(request.scope, InvalidInput(what, remedy), 422)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        what = f"{error.detail.rstrip('.')}."
        return refusal_response(request.scope, InvalidInput(what, remedy), error.status_code, error.headers)
