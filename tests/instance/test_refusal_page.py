"""Refusals are pages for people, whose style the policy of the page allows, and JSON for programs."""

import base64
import hashlib
import re

import httpx

from pellucid.errors import NotFound
from pellucid.instance.access.refusal_page import refusal_page
from pellucid.instance.server import HOST, Instance

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


def test_a_wrong_address_is_a_page_in_a_browser_and_json_elsewhere(instance: Instance) -> None:
    address = f"http://{HOST}:{instance.port}/nothing/here"
    page = httpx.get(address, headers={"Accept": BROWSER})
    assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
    assert "<h1>/nothing/here does not exist.</h1>" in page.text and "open the link of the page again" in page.text
    for accepted in ("*/*", "application/json"):
        answer = httpx.get(address, headers={"Accept": accepted})
        assert answer.status_code == 404 and answer.json()["kind"] == NotFound.__name__
    assert httpx.post(address, headers={"Accept": BROWSER}).json()["kind"] == NotFound.__name__


def test_routes_and_other_origins_are_refused_in_the_same_style(instance: Instance) -> None:
    address = f"http://{HOST}:{instance.port}/api/scene"
    for headers in ({}, {"Origin": "http://example.org"}):
        page = httpx.get(address, headers={"Accept": BROWSER, **headers})
        assert page.status_code == 403 and page.text.startswith("<!doctype html>")
        style = re.findall("<style>(.*?)</style>", page.text, re.DOTALL)[0]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert f"style-src 'self' 'sha256-{digest}'" in page.headers["content-security-policy"]


def test_what_comes_from_outside_is_text_and_no_markup() -> None:
    assert "<script>" not in refusal_page("<script>alert(1)</script>", "<b>") and "&lt;b&gt;" in refusal_page("", "<b>")
