"""The agent's own page: files, and what runs, waits and has ended.

Here: its files, which are in ``page/``.
Not here: what the page asks for (app).
"""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse

PAGE = Path(__file__).parent / "page"
SUFFIXES = (".js", ".css", ".svg")


def add(app: FastAPI) -> None:
    app.add_api_route("/", _giver(PAGE / "index.html"), methods=["GET"], response_class=FileResponse)
    for file in sorted(path for path in PAGE.iterdir() if path.suffix in SUFFIXES):
        app.add_api_route(f"/{file.name}", _giver(file), methods=["GET"], response_class=FileResponse)


def _giver(path: Path):  # type: ignore[no-untyped-def]
    async def give() -> FileResponse:
        return FileResponse(path)

    return give
