"""Refusals: a page for people who open an address in a browser, JSON for pages and programs.

Here: refusal_response; is_for_browser, refusal_page and its style, for servers that write their answers themselves.
Not here: what is refused (auth, route_rules, error_handlers), what guests may see of an error (redaction).
"""

import base64
import hashlib
from collections.abc import Mapping
from html import escape

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from pellucid.errors import PellucidError
from pellucid.instance.process import error_body

STYLE = """
:root { color-scheme: dark }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #08090b; color: #e8ebef;
  font: 15px/1.5 system-ui, sans-serif }
main { max-width: 440px; padding: 20px; text-align: center; overflow-wrap: anywhere }
svg { width: 46px; height: 46px; fill: #8fb7d9 }
h1 { font-size: 17px; font-weight: 600 }
p { color: #a9b1bb }
"""
STYLE_HASH = f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
"""By which a Content-Security-Policy allows this style and no other in a page."""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pellucid</title><style>{style}</style>
<main><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M16 3 27 9l-11 6L5 9z"/>
<path d="m5 10 10.5 6v13L5 23z" opacity=".6"/><path d="m27 10-10.5 6v13L27 23z" opacity=".3"/></svg>
<h1>{what}</h1><p>{remedy}</p></main></html>
"""


def is_for_browser(method: str, accept: str) -> bool:
    """Whether a person opens an address: what a page fetches accepts everything, and programs ask for JSON."""
    return method == "GET" and "text/html" in accept


def refusal_page(what: str, remedy: str) -> str:
    """HTML with two sentences."""
    return PAGE.format(style=STYLE, what=escape(what), remedy=escape(remedy))


def refusal_response(
    scope: Scope, error: PellucidError, status: int, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as the answer to a request."""
    if is_for_browser(scope["method"], Headers(scope=scope).get("accept", "")):
        return HTMLResponse(refusal_page(error.what, error.remedy), status, headers)
    return JSONResponse(error_body(error), status, headers)
