"""The agent's own page: what runs, what waits, what ended; start, open, stop, logs.

Here: its files, which are in ``page/``.
Not here: what the page asks for (app).
"""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse

PAGE = Path(__file__).parent / "page"
FILES = {"": "index.html", "home.js": "home.js", "home.css": "home.css"}


def add(app: FastAPI) -> None:
    for name, file in FILES.items():
        app.add_api_route(f"/{name}", _giver(PAGE / file), methods=["GET"], response_class=FileResponse)


def _giver(path: Path):  # type: ignore[no-untyped-def]
    async def give() -> FileResponse:
        return FileResponse(path)

    return give
