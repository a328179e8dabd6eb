"""Who is let in from the Hub, what is passed on, and what is remembered; without a Hub."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pellucid.agent.hub import oauth
from pellucid.agent.hub.activity import Activity
from pellucid.agent.hub.auth import COOKIE, SESSION_COOKIE, ViewerAuth
from pellucid.agent.hub.environment import HubEnvironment
from pellucid.agent.hub.oauth import LASTS_S, OAuthLogin
from pellucid.agent.hub.single_user import SingleUserServer
from pellucid.agent.hub.users import FRESH_S, STALE_S, HubUnavailable, HubUsers
from pellucid.agent.lease import Lease, holder
from pellucid.agent.proxy.request_head import RequestHead
from pellucid.errors import InvalidInput

ENVIRONMENT = {
    "JUPYTERHUB_SERVICE_URL": "http+unix://%2Frun%2Fpellucid-hub%2Fagents%2F1000%2Fsocket/user/ada/",
    "JUPYTERHUB_SERVICE_PREFIX": "/user/ada%20b/",
    "JUPYTERHUB_BASE_URL": "/",
    "JUPYTERHUB_API_URL": "http+unix://%2Frun%2Fpellucid-hub%2Fhub/hub/api",
    "JUPYTERHUB_CLIENT_ID": "jupyterhub-user-ada",
    "JUPYTERHUB_OAUTH_CALLBACK_URL": "/user/ada%20b/oauth_callback",
    "JUPYTERHUB_ACTIVITY_URL": "http+unix://%2Frun%2Fpellucid-hub%2Fhub/hub/api/users/ada/activity",
    "JUPYTERHUB_OAUTH_ACCESS_SCOPES": '["access:servers!server=ada/", "access:servers!user=ada"]',
    "JUPYTERHUB_API_TOKEN": "the-agent's-own",
}
HUB = HubEnvironment.from_variables(dict(ENVIRONMENT))
ADA = {"name": "ada", "scopes": ["access:servers!user=ada"]}
BOB = {"name": "bob", "scopes": ["access:servers!user=bob"]}
ADMIN = {"name": "root", "scopes": ["access:servers"]}


class Hub:
    """Answers as a Hub does, and counts."""

    def __init__(self, **people: dict[str, Any]) -> None:
        self.people, self.request, self.is_silent, self.now = people, 0, False, 1000.0

    def ask(self, url: str, token: str) -> dict[str, Any]:
        assert url == "http+unix://%2Frun%2Fpellucid-hub%2Fhub/hub/api/user"
        self.request += 1
        if self.is_silent:
            raise HubUnavailable("restarting")
        return self.people.get(token, {})

    @property
    def known(self) -> HubUsers:
        return HubUsers(HUB, self.ask, lambda: self.now)


def test_secrets_leave_the_environment() -> None:
    environment = dict(ENVIRONMENT)
    assert HubEnvironment.from_variables(environment).api_token == "the-agent's-own"
    assert "JUPYTERHUB_API_TOKEN" not in environment and "the-agent's-own" not in repr(HUB)
    with pytest.raises(InvalidInput, match="was not started by JupyterHub"):
        HubEnvironment.from_variables({})


@pytest.mark.parametrize(
    ("person", "may"), [(ADA, True), (BOB, False), (ADMIN, True), ({}, False), ({"scopes": 1}, False)]
)
def test_scopes_decide_who_may_come_in(person: dict[str, Any], may: bool) -> None:
    assert Hub(token=person).known.is_allowed("token") is may


def test_an_answer_holds_for_a_minute_and_longer_where_the_hub_is_silent() -> None:
    hub = Hub(token=ADA)
    people = hub.known
    assert people.is_allowed("token") and people.is_allowed("token")
    assert hub.request == 1
    hub.now += FRESH_S + 1
    hub.is_silent = True
    assert people.is_allowed("token") and not people.is_allowed("other")
    hub.now += STALE_S
    assert not people.is_allowed("token")
    hub.is_silent, hub.people = False, {}
    assert not people.is_allowed("token")


def test_a_refusal_is_not_remembered_and_another_session_is_asked_about() -> None:
    hub = Hub()
    people = hub.known
    assert not people.is_allowed("token", "first") and not people.is_allowed("")
    hub.people = {"token": ADA}
    assert people.is_allowed("token", "first")
    hub.people = {}
    assert people.is_allowed("token", "first") and not people.is_allowed("token", "second")


def test_a_log_in_needs_the_browser_that_began_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, list[str]]] = []

    def answer(url: str, token: str, body: bytes, content_type: str) -> dict[str, Any]:
        sent.append(parse_qs(body.decode()))
        return {"access_token": "fresh"}

    monkeypatch.setattr(oauth, "ask_hub", answer)
    now = [0.0]
    log_in = OAuthLogin(HUB, lambda: now[0])
    url, state = log_in.begin("/user/ada%20b/i/0123456789/?a=b")
    request = parse_qs(urlsplit(url).query)
    assert url.startswith("/hub/api/oauth2/authorize?") and request["code_challenge_method"] == ["S256"]
    assert log_in.finish("code", state, "somebody else's") == ("", "/user/ada b/") and not sent
    assert log_in.finish("code", state, state)[0] == ""  # It is spent, whoever brought it.
    _, state = log_in.begin("/user/ada%20b/i/0123456789/?a=b")
    assert log_in.finish("code", state, state) == ("fresh", "/user/ada%20b/i/0123456789/?a=b")
    assert sent[0]["code_verifier"] != request["code_challenge"] and sent[0]["client_secret"] == ["the-agent's-own"]
    for reply, token in (({}, ""), ({"access_token": "other", "scope": "all"}, "other")):
        monkeypatch.setattr(oauth, "ask_hub", lambda *_, reply=reply: reply)
        _, state = log_in.begin("/")
        assert log_in.finish("code", state, state) == (token, "/")
    monkeypatch.setattr(oauth, "ask_hub", lambda *_: {"access_token": None})
    _, state = log_in.begin("/")
    with pytest.raises(HubUnavailable, match="access_token"):
        log_in.finish("code", state, state)
    _, state = log_in.begin("/")
    now[0] = LASTS_S + 1
    assert log_in.finish("code", state, state)[0] == ""


def head(method: str = "GET", path: str = "/user/ada%20b/i/0123456789/ws?a=b", **headers: str) -> RequestHead:
    lines = {"Host": "site.org"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return RequestHead(method, path, tuple(f"{name}: {value}" for name, value in lines.items()))


COOKIES = f"{SESSION_COOKIE}=s; {COOKIE}=token"
INNER = "/i/0123456789/ws?a=b"


@pytest.mark.parametrize(
    ("came", "target", "is_vouched"),
    [
        (head(Authorization="Bearer token"), INNER, True),
        (head(Authorization="token token"), INNER, True),
        (head("POST", Authorization="Bearer token"), INNER, True),
        (head(Cookie=COOKIES), INNER, False),
        (head(Cookie=COOKIES, Origin="https://site.org"), INNER, False),
        (head("POST", Cookie=COOKIES, Origin="https://site.org"), INNER, False),
        (head("POST", Cookie=COOKIES), "", False),
        (head(Cookie=COOKIES, Origin="https://elsewhere.org"), "", False),
        (head(Cookie=COOKIES, Origin="null"), "", False),
        (head(Authorization="Bearer wrong", Cookie=COOKIES), "", False),
        (head(Authorization="Basic token"), "", False),
        (head(), "", False),
        (head(path="/i/0123456789/ws", Authorization="Bearer token"), "", False),
        (head(path="/user/ada%20b/api/jobs", Authorization="Bearer token"), "", False),
        (head(path="/user/ada%20bc/i/0123456789/", Authorization="Bearer token"), "", False),
    ],
)
def test_the_gate_lets_through_whom_the_hub_vouches_for(came: RequestHead, target: str, is_vouched: bool) -> None:
    gate = ViewerAuth(HUB, Hub(token=ADA).known, Activity(HUB), has_links=False)
    assert asyncio.run(gate(came)) == (RequestHead(came.method, target or came.target, came.headers), is_vouched)


def test_links_open_viewers_where_the_site_wants_that() -> None:
    gate = ViewerAuth(HUB, Hub().known, Activity(HUB), has_links=True)
    assert asyncio.run(gate(head()))[0].target == INNER
    assert asyncio.run(gate(head(Authorization="Bearer wrong")))[0].target.startswith("/user/")
    assert asyncio.run(gate(head(path="/user/ada%20b/api/jobs")))[0].target == "/user/ada%20b/api/jobs"


def test_a_header_that_came_twice_counts_as_none() -> None:
    came = RequestHead("GET", INNER, ("Authorization: Bearer hub", "authorization: Bearer again", "Host: a"))
    assert came.header("authorization") is None and came.header("host") == "a"


def test_activity_is_input_and_told_once() -> None:
    reply: list[dict[str, Any]] = []
    now, seen = [100.0], [0.0]
    activity = Activity(HUB, lambda: seen[0], lambda url, token, body: reply.append(json.loads(body)), lambda: now[0])
    gate = ViewerAuth(HUB, Hub(token=ADA).known, activity, has_links=False)
    activity.report()
    now[0] = 200.0
    asyncio.run(gate(head(Cookie=COOKIES)))  # What a page asks for by itself, such as pictures, is no input.
    activity.report()
    assert len(reply) == 1
    asyncio.run(gate(head(Cookie=COOKIES, Sec_Fetch_Mode="navigate")))
    activity.report()
    assert reply[1]["last_activity"] == reply[1]["servers"][""]["last_activity"] == "1970-01-01T00:03:20+00:00"
    seen[0] = 260.0
    activity.report()
    assert reply[2]["last_activity"] == "1970-01-01T00:04:20+00:00"


def test_the_lease_of_another_machine_is_taken_when_its_holder_has_noticed(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.acquire()
    content = json.loads((tmp_path / "agent.json").read_text())
    (tmp_path / "agent.json").write_text(json.dumps(content | {"process": "elsewhere/1/1"}))
    before = holder(tmp_path)
    assert before is not None and before.host == "elsewhere"
    waited: list[float] = []
    SingleUserServer.take_over(tmp_path, waited.append)
    assert holder(tmp_path) is None and waited == [16.0]
