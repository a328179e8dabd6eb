"""The files of a page: the viewer's, or the agent's.

Here: the built page's files, in which nothing is secret, or how to get them where they are missing.
Not here: anything that the page requests later.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import FastAPI, Response

from pellucid.instance.access.route_rules import public

BUILT = files("pellucid.instance") / "site"
MISSING = "This page was not built. Run tools/build_page.py (make setup does), then restart this program.\n"
TYPES = {
    "html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "png": "image/png",
    "json": "application/json", "woff2": "font/woff2", "ico": "image/x-icon", "txt": "text/plain",
}  # fmt: skip


def page_files(site: Traversable = BUILT, index: str = "index.html") -> dict[str, Traversable]:
    """By address. No name that comes from outside ever becomes a path."""
    return dict(_below(site, "")) if (site / index).is_file() else {}


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for one in folder.iterdir():
        found += _below(one, f"{prefix}{one.name}/") if one.is_dir() else [(prefix + one.name, one)]
    return found


def add(app: FastAPI, site: Traversable = BUILT, index: str = "index.html") -> None:
    """Serve the files of a built page. index: the one at the address itself."""
    found, rule = page_files(site, index), [public(max_body_bytes=0)]
    if not found:
        missing = lambda: Response(MISSING, 503, media_type="text/plain")  # noqa: E731
        app.add_api_route("/", missing, dependencies=rule, include_in_schema=False)
    for name, file in found.items():
        media_type = TYPES.get(name.rpartition(".")[2], "application/octet-stream")

        def page_file(file: Traversable = file, media_type: str = media_type) -> Response:
            return Response(file.read_bytes(), media_type=media_type)

        app.add_api_route(f"/{name}", lambda serve=page_file: serve(), dependencies=rule, include_in_schema=False)
        if name == index:
            app.add_api_route("/", lambda serve=page_file: serve(), dependencies=rule, include_in_schema=False)
