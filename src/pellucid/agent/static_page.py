"""The agent's own page: files, viewers and tasks.

Here: where the built page is. Its sources are in ``web/``.
Not here: what the page requests (app), how its files are served (instance.routes.static_page).
"""

from importlib.resources import files

from fastapi import FastAPI

from pellucid.instance.routes import static_page

SITE = files("pellucid.agent") / "site"
INDEX = "agent.html"


def add(app: FastAPI) -> None:
    static_page.add(app, SITE, INDEX)
