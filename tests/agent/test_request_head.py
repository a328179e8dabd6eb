"""Heads of requests: where they lead, what is passed on, what is refused."""

import pytest

from pellucid.agent.proxy.request_head import InvalidRequest, RequestHead, text_response

ID = "0123456789"


def head(target: str, *headers: str, method: str = "GET") -> RequestHead:
    return RequestHead.parse("\r\n".join([f"{method} {target} HTTP/1.1", *headers]).encode("latin-1"))


@pytest.mark.parametrize(
    ("target", "leads"),
    [
        ("/", (None, False)),
        ("/api/jobs", (None, False)),
        (f"/i/{ID}/", (ID, False)),
        (f"/i/{ID}/api/scene?x=1", (ID, False)),
        (f"/i/{ID}", (ID, True)),
        (f"/i/{ID}?a=b", (ID, True)),
        (f"/i/{ID}0/", (None, False)),
        ("/i/../etc/passwd", (None, False)),
    ],
)
def test_where_it_leads(target: str, leads: tuple[str | None, bool]) -> None:
    assert head(target).viewer == leads


def test_a_viewer_sees_its_own_path_and_one_request() -> None:
    came = head(f"/i/{ID}/api/scene?a=b", "Host: here:1", "Connection: keep-alive", "Cookie: c=d")
    assert came.for_upstream(ID).decode().split("\r\n") == [
        "GET /api/scene?a=b HTTP/1.1", "Host: here:1", "Cookie: c=d", "Connection: close", "", "",
    ]  # fmt: skip


def test_only_the_agent_says_how_a_request_came() -> None:
    came = head(f"/i/{ID}/", "Host: here", "Pellucid-Agent: forged", "pellucid-agent: again")
    assert b"forged" not in came.for_upstream(ID) and b"again" not in came.for_upstream(None)
    text = came.for_upstream(ID, "token run http://here/").decode().split("\r\n")
    assert [line for line in text if line.lower().startswith("pellucid")] == ["pellucid-agent: token run http://here/"]


def test_an_upgrade_stays_one() -> None:
    came = head(f"/i/{ID}/ws", "Host: here", "Connection: keep-alive, Upgrade", "Upgrade: websocket")
    assert b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n" in came.for_upstream(ID)


@pytest.mark.parametrize(
    "upgrade",
    [["Upgrade: h2c"], ["Upgrade: websocket", "Upgrade: h2c"], ["Upgrade: \xa0websocket"], ["Upgrade: websocket\x85"]],
)
def test_an_upgrade_to_anything_else_is_one_request(upgrade: list[str]) -> None:
    """A second one on its connection would not be looked at here."""
    came = head(f"/i/{ID}/api/about", "Host: here", "Connection: Upgrade", *upgrade)
    assert came.for_upstream(ID) == b"GET /api/about HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"GET /",
        b"GET / HTTP/2",
        b"GET http://elsewhere/ HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"GET / HTTP/1.1\r\nno colon",
        b"GET / HTTP/1.1\r\nA: b\r\n folded: yes",
        b"GET / HTTP/1.1\r\nA : b",
        b"GET / HTTP/1.1\r\nA: b\nC: d",
        b"\x16\x03\x01\x02\x00",
    ],
)
def test_what_is_no_request_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidRequest):
        RequestHead.parse(raw)


def test_a_short_answer() -> None:
    assert text_response(404, "Gone.").startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert b"\r\nLocation: /i/x/\r\n" in text_response(308, "There.", head("/i/x").with_trailing_slash)
    assert head("/i/x?a=b").with_trailing_slash == "/i/x/?a=b"


def test_a_short_answer_is_a_page_for_a_browser() -> None:
    assert head("/i/x/").is_for_browser is False
    asked = RequestHead.parse(b"GET /i/x/ HTTP/1.1\r\nAccept: text/html,*/*")
    page = text_response(404, "This viewer does not exist or has ended.", is_page=asked.is_for_browser)
    assert b"\r\nContent-Type: text/html; charset=utf-8\r\n" in page and b"<h1>This viewer does not exist" in page
