"""A page that describes the HTTP interface.

Here: one page made from the OpenAPI document, with nothing from elsewhere.
Not here: the document (FastAPI makes it), the WebSocket's messages (docs/reference/protocol.md).
"""

from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from pellucid.instance.access.route_rules import public

HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Pellucid: HTTP interface</title>
<h1>Pellucid: HTTP interface</h1>
<p>The same for programs: <a href="openapi.json">openapi.json</a>. A program sends its secret as
<code>Authorization: Bearer SECRET</code>. An error has the body {kind, what, remedy, line}.</p>
<table><tr><th>request</th><th>what it does</th><th>parameters</th><th>body</th><th>answer</th></tr>
"""


def add(app: FastAPI) -> None:
    rule = [public(max_body_bytes=0)]

    @app.get("/api/openapi.json", dependencies=rule, include_in_schema=False)
    async def schema() -> dict[str, Any]:
        return app.openapi()

    @app.get("/api/docs", dependencies=rule, include_in_schema=False)
    async def documentation() -> HTMLResponse:
        return HTMLResponse(HEAD + "".join(_rows(app.openapi())) + "</table></html>")


def _rows(document: dict[str, Any]) -> list[str]:
    return [
        _row(path, method, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]


def _row(path: str, method: str, operation: dict[str, Any]) -> str:
    parameters = ", ".join(parameter["name"] for parameter in operation.get("parameters", ()))
    answers: dict[str, Any] = operation["responses"]
    answer: dict[str, Any] = answers.get("200", {})
    body = operation.get("requestBody", {})
    cells = [f"{method.upper()} {path}", operation.get("description", ""), parameters, _schema(body), _schema(answer)]
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>\n"


def _schema(part: dict[str, Any]) -> str:
    contents = part.get("content", {})
    named = [content.get("schema", {}).get("$ref", media) for media, content in contents.items()]
    return ", ".join(name.rpartition("/")[2] if name.startswith("#") else name for name in named)
