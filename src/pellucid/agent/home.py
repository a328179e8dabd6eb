"""The agent's own page: files, and what runs, waits and has ended.

Here: its files, which are in ``page/``, and in which nothing is secret.
Not here: what the page asks for (app).
"""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse

from pellucid.instance.route_rules import public

PAGE = Path(__file__).parent / "page"
SUFFIXES = (".js", ".css", ".svg")


def add(app: FastAPI) -> None:
    parts = sorted(path for path in PAGE.iterdir() if path.suffix in SUFFIXES)
    for path, file in {"/": PAGE / "index.html", **{f"/{part.name}": part for part in parts}}.items():
        app.add_api_route(path, _giver(file), methods=["GET"], response_class=FileResponse, dependencies=[public()])


def _giver(path: Path):  # type: ignore[no-untyped-def]
    async def give() -> FileResponse:
        return FileResponse(path)

    return give
