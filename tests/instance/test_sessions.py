"""Secrets: what works once, what can be revoked, and what a program that took over a port could do with them."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from pellucid.errors import NotAllowed, NotFound
from pellucid.instance.access.proofs import sign
from pellucid.instance.access.sessions import (
    CODE_S,
    MAX_KEPT,
    MAX_KEPT_PER_LINK,
    TICKET_S,
    Access,
    AccessChannel,
    Grant,
    make_code,
)
from pellucid.instance.protocol.shared_types import VERSION
from pellucid.instance.server import Instance
from pellucid.instance.websocket import message_rates
from tests.clock import Clock
from tests.instance.loopback import Page, address, begun, http, open_page, proved, running
from tests.waiting import TIMEOUT_S

OWN = "http://127.0.0.1:8000/"
DIRECT = AccessChannel(OWN)
THROUGH_AGENT = AccessChannel("http://127.0.0.1:9000/i/0123456789/", "run-1")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(clock: Clock) -> Access:
    return Access(OWN, clock=clock)


def test_a_code_works_once(access: Access) -> None:
    code = access.make_code()
    assert access.redeem(code, DIRECT) == Grant("own")
    with pytest.raises(NotAllowed, match="already used"):
        access.redeem(code, DIRECT)
    assert access.redeem(access.make_code(), DIRECT) == Grant("own")


def test_a_code_is_forgotten_only_when_it_is_too_old(access: Access, clock: Clock) -> None:
    code, late = access.make_code(), access.make_code()
    access.redeem(code, DIRECT)
    clock.now += CODE_S - 1
    with pytest.raises(NotAllowed, match="already used"):
        access.redeem(code, DIRECT)
    clock.now += 2
    for old in (code, late):
        with pytest.raises(NotAllowed, match="older than ten minutes"):
            access.redeem(old, DIRECT)


@pytest.mark.parametrize("code", ["", "a", "a.b", "a.b.c", "..", "a.9e99.c", "\u00e9.1.x"])
def test_what_is_no_code_is_refused(access: Access, code: str) -> None:
    with pytest.raises(NotAllowed, match="belongs to another viewer"):
        access.redeem(code, DIRECT)


def test_a_code_works_in_the_process_that_issued_it_and_through_its_agent_alone(access: Access) -> None:
    later = AccessChannel(THROUGH_AGENT.address, "run-2")
    for issued, other in ((DIRECT, THROUGH_AGENT), (THROUGH_AGENT, DIRECT), (THROUGH_AGENT, later)):
        code = make_code(access.token, issued.agent, 1000.0)
        for where, who in ((other, access), (issued, Access(OWN, access.root, lambda: 1000.0))):
            with pytest.raises(NotAllowed):
                who.redeem(code, where)
        assert access.redeem(code, issued).agent == issued.agent


@pytest.mark.parametrize("channel", [DIRECT, THROUGH_AGENT])
def test_tokens_and_share_links_work_through_their_channel_alone(access: Access, channel: AccessChannel) -> None:
    session = access.begin(Grant("own", channel.agent), channel.address, channel)
    share = access.share("control", agent=channel.agent)
    restarted = Access(OWN, access.root)
    others = [one for one in (DIRECT, THROUGH_AGENT, AccessChannel(THROUGH_AGENT.address, "run-2")) if one != channel]
    for secret in (session.token, share.secret):
        assert access.grant(secret, channel) is not None
        assert restarted.grant(secret, channel) is None
        assert [access.grant(secret, other) for other in others] == [None] * len(others)
    for other in others:
        with pytest.raises(NotAllowed):
            access.resume(session.token, other.address, other)
        with pytest.raises(NotAllowed):
            access.open_share(share.secret, other)
    assert access.resume(session.token, channel.address, channel).key != session.key


def test_the_owners_token_works_at_the_viewers_own_port_alone(access: Access) -> None:
    assert access.grant(access.token, DIRECT) == Grant("own")
    assert access.grant(access.token, THROUGH_AGENT) is None
    assert Access(OWN, access.root).token != access.token


def test_only_its_agent_says_how_a_request_came(access: Access) -> None:
    assert access.channel(f"{access.token} run-1 http://hub/i/x/") == AccessChannel("http://hub/i/x/", "run-1")
    assert access.channel(f"{access.token} run-1 http://hub/i/x/ own").is_owner
    for stated in ("", "own", f"{access.token}", f"wrong run-1 {OWN} own", f"{access.token}  {OWN} own"):
        with pytest.raises(NotAllowed):
            access.channel(stated)


def test_a_page_behind_another_address_has_its_session_while_it_is_connected(access: Access) -> None:
    session = access.begin(Grant("own"), "http://127.0.0.1:8888/proxy/8000/", DIRECT)
    with pytest.raises(NotAllowed):
        access.resume(session.token, session.address, DIRECT)
    assert access.known(session.id, DIRECT.address, DIRECT) is session
    access.leave(session)
    assert access.grant(session.token, DIRECT) is None
    for later in (access, Access(OWN, access.root)):  # The proxy may have seen the key: it opens nothing any more.
        again = later.known(session.id, DIRECT.address, DIRECT)
        assert again is not None and again.key != session.key


@pytest.mark.parametrize("more", ["?a http://x.localhost:1/", "#a http://x.localhost:1/", "? http://x.localhost:1/"])
def test_an_address_brings_no_further_words_into_a_proof(access: Access, more: str) -> None:
    assert access.known("a" * 16, OWN, DIRECT) is not None and access.known("a" * 16, OWN + more, DIRECT) is None
    assert not access.begin(Grant("own"), OWN + more, DIRECT).is_lasting


def test_by_tls_the_machine_may_have_several_names() -> None:
    access = Access("https://node-7:4433/")
    assert access.begin(Grant("view"), "https://node-7.site.org:4433/", AccessChannel(access.address)).is_lasting
    assert not access.begin(Grant("view"), "https://node-7:4434/", AccessChannel(access.address)).is_lasting


def test_a_ticket_is_for_one_address_for_a_minute(access: Access, clock: Clock) -> None:
    ticket = access.ticket("/api/tasks/a/result", Grant("control"))
    assert access.grant_of_ticket(ticket, "/api/tasks/a/result", DIRECT) == Grant("control")
    assert access.grant_of_ticket(ticket, "/api/tasks/b/result", DIRECT) is None
    assert access.grant_of_ticket(ticket, "/api/tasks/a/result", THROUGH_AGENT) is None
    assert access.grant_of_ticket("", "/api/tasks/a/result", DIRECT) is None
    clock.now += TICKET_S + 1
    assert access.grant_of_ticket(ticket, "/api/tasks/a/result", DIRECT) is None


def test_what_came_from_a_link_ends_with_it(access: Access) -> None:
    share, other = access.share("own", "for Ben"), access.share("own", "for Cem")
    assert access.share("own", "for Ben") == share != other
    session = access.begin(share.grant, OWN, DIRECT)
    ticket = access.ticket("/x", session.grant)
    transfer = access.transfer_token(share.grant)
    assert {transfer, share.secret} <= set(access.transfer_tokens)
    access.revoke(share.id)
    assert access.grant(session.token, DIRECT) is access.grant(share.secret, DIRECT) is None
    assert access.grant_of_ticket(ticket, "/x", DIRECT) is None
    assert not {transfer, share.secret} & set(access.transfer_tokens)
    assert access.grant(other.secret, DIRECT) == other.grant
    with pytest.raises(NotFound):
        access.revoke(share.id)


def test_what_the_holder_of_a_link_made_ends_with_it(access: Access) -> None:
    share, owners = access.share("own", "for Ben"), access.share("view", "for all")
    made = access.share("own", "for all", maker=share.id)
    further = access.share("view", "for all", maker=made.id)
    codes = [access.make_code(link=made.id) for _ in range(2)]
    session = access.begin(access.redeem(codes[0], DIRECT), OWN, DIRECT)
    assert access.grant(session.token, DIRECT) == Grant("own", "", made.id)
    assert access.shares_made_with(share.id) == [made, further] and further != owners
    with pytest.raises(NotFound):
        access.revoke(owners.id, by=share.id)
    assert access.revoke(share.id) == {share.id, made.id, further.id}
    assert access.shares == [owners]
    assert access.grant(session.token, DIRECT) is None
    with pytest.raises(NotAllowed, match="was revoked"):
        access.redeem(codes[1], DIRECT)


def test_the_holder_of_a_link_sees_and_revokes_what_was_made_with_it_alone(viewer: Instance) -> None:
    access = viewer.session.access
    mine, other = access.share("own", "for Ben"), access.share("own", "for Cem")
    with httpx.Client(base_url=viewer.address, headers={"Authorization": f"Bearer {mine.secret}"}) as client:
        assert client.get("/api/shares").json() == []
        made = client.post("/api/shares", json={"capability": "view"}).json()
        assert [one["id"] for one in client.get("/api/shares").json()] == [made["id"]]
        assert client.delete(f"/api/shares/{other.id}").status_code == 404
        code = client.post("/api/codes").json()["code"]
    access.revoke(mine.id)
    assert made["id"] not in {one.id for one in access.shares} and other in access.shares
    answer = request(viewer, code=code)
    assert answer.status_code == 403 and "was revoked" in answer.text


def test_many_sessions_and_tickets_of_a_link_end_only_its_own(access: Access) -> None:
    link, other = access.share("view", "for Ben").grant, access.share("view", "for Cem").grant
    sessions = {grant: access.begin(grant, OWN, DIRECT) for grant in (Grant("own"), other, link)}
    tickets = {grant: access.ticket("/x", grant) for grant in sessions}
    for _ in range(MAX_KEPT_PER_LINK - 1):
        access.begin(link, OWN, DIRECT)
        access.ticket("/x", link)
    assert access.grant(sessions[link].token, DIRECT) == access.grant_of_ticket(tickets[link], "/x", DIRECT) == link
    for _ in range(MAX_KEPT):
        access.begin(link, OWN, DIRECT)
        access.ticket("/x", link)
    assert access.grant(sessions[link].token, DIRECT) is access.grant_of_ticket(tickets[link], "/x", DIRECT) is None
    for grant in (Grant("own"), other):
        assert access.grant(sessions[grant].token, DIRECT) == grant
        assert access.grant_of_ticket(tickets[grant], "/x", DIRECT) == grant


# Over the wire


@pytest.fixture(scope="module")
def viewer(source: str, folder: Path) -> Iterator[Instance]:
    with running(source, folder) as started:
        yield started


def request(viewer: Instance, **body: str) -> httpx.Response:
    return httpx.post(f"{viewer.address}api/session", json={"address": viewer.address, **body})


def test_a_link_opens_a_page_once_and_reloading_needs_none(viewer: Instance) -> None:
    code = viewer.url.partition("#code=")[2]
    opened = request(viewer, code=code).json()
    assert "already used" in request(viewer, code=code).json()["what"]
    reloaded = request(viewer, resume=opened["token"]).json()
    assert reloaded["capability"] == "own" and reloaded["key"] != opened["key"]
    for token in (opened["token"], reloaded["token"]):
        assert httpx.get(f"{viewer.address}api/scene", headers={"Pellucid-Session": token}).status_code == 200
    assert request(viewer, resume="wrong").status_code == request(viewer, share="wrong").status_code == 403
    assert request(viewer).status_code == 400


def test_guests_wait_their_turn_for_sessions_and_the_owner_does_not(
    viewer: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = list[message_rates.Rate]()

    def take(rate: message_rates.Rate) -> float:
        turns.append(rate)
        return 0.0

    monkeypatch.setattr(message_rates.Rate, "take", take)
    share = viewer.session.access.share("view").secret
    guest = request(viewer, share=share).json()["token"]
    assert request(viewer, resume=guest).status_code == 200 and len(turns) == 2
    owner = request(viewer, code=viewer.url.partition("#code=")[2]).json()["token"]
    assert request(viewer, resume=owner).status_code == 200
    assert request(viewer, share="wrong").status_code == 403  # A stranger makes no guest wait.
    assert len(turns) == 2


def test_a_page_that_cannot_prove_itself_hears_nothing(viewer: Instance) -> None:
    opened = begun(viewer)
    for session, key in ((opened["session"], "another key"), ("unknown", opened["key"])):
        with connect(address(viewer)) as line:
            page = Page(line)
            page.say("prove", session=session, nonce="mine")
            nonce = page.hear_text("proof")["nonce"]
            proof = sign(key, "page", "mine", nonce, viewer.address)
            page.say("hello", version=VERSION, width=9, height=9, proof=proof)
            with pytest.raises(ConnectionClosed) as closed:
                page.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4004


def test_a_greeting_without_the_proof_before_it_is_refused(viewer: Instance) -> None:
    with connect(address(viewer)) as line:
        page = Page(line)
        page.say("hello", version=VERSION, width=9, height=9)
        assert "different versions" in page.hear_text("error")["what"]


def test_a_session_of_another_address_is_not_taken(viewer: Instance) -> None:
    elsewhere = "http://127.0.0.1:1/"
    opened = begun(viewer, at=elsewhere)
    with connect(address(viewer)) as line:  # As long as it stays connected: a notebook's proxy is such an address.
        page = Page(line)
        proof = proved(page, opened, elsewhere)
        page.say("hello", version=VERSION, width=9, height=9, proof=proof)
        page.hear_text("welcome")
    headers = {"Pellucid-Session": opened["token"]}
    while httpx.get(f"{viewer.address}api/scene", headers=headers).status_code == 200:
        pass
    assert request(viewer, resume=opened["token"]).status_code == 403


def test_a_revoked_link_ends_open_pages(viewer: Instance) -> None:
    with http(viewer) as owner, open_page(viewer, "control") as guest, open_page(viewer) as other:
        (share,) = [one for one in owner.get("/api/shares").json() if one["capability"] == "control"]
        headers = {"Authorization": f"Bearer {share['url'].removeprefix('#share=')}"}
        assert httpx.get(f"{viewer.address}api/scene", headers=headers).status_code == 200
        assert owner.delete(f"/api/shares/{share['id']}").status_code == 204
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                guest.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4003
        assert httpx.get(f"{viewer.address}api/scene", headers=headers).status_code == 403
        assert request(viewer, share=share["url"].removeprefix("#share=")).status_code == 403
        other.say("keep_alive")
        assert other.hear_text("idle")["seconds_left"] > 0


def test_a_link_that_is_revoked_during_the_greeting_opens_no_page(viewer: Instance) -> None:
    share = viewer.session.access.share("view", "for Ben")
    opened = request(viewer, share=share.secret).json()
    with connect(address(viewer)) as line:
        page = Page(line)
        proof = proved(page, opened, viewer.address)
        viewer.session.revoke(share.id)
        page.say("hello", version=VERSION, width=9, height=9, proof=proof)
        with pytest.raises(ConnectionClosed) as closed:
            page.hear()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4004
    headers = {"Pellucid-Session": opened["token"]}
    assert httpx.get(f"{viewer.address}api/scene", headers=headers).status_code == 403


def test_a_link_that_is_revoked_while_a_body_comes_makes_no_other_link(
    viewer: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    access, was_let_in = viewer.session.access, threading.Event()
    share, find_grant = access.share("own", "for Cem"), access.grant

    def grant(secret: str, channel: AccessChannel) -> Grant | None:
        found = find_grant(secret, channel)
        was_let_in.set()
        return found

    def body() -> Iterator[bytes]:
        yield b'{"capability": "own", '
        assert was_let_in.wait(TIMEOUT_S)
        viewer.session.revoke(share.id)
        yield b'"name": "for later"}'

    monkeypatch.setattr(access, "grant", grant)
    answer = httpx.post(
        f"{viewer.address}api/shares", content=body(), headers={"Authorization": f"Bearer {share.secret}"}
    )
    assert answer.status_code == 403 and "was revoked" in answer.json()["what"]
    assert "for later" not in {one.name for one in access.shares}


def test_a_download_has_an_address_of_its_own(viewer: Instance) -> None:
    path = "api/screenshot?width=8&height=8"
    with http(viewer, "control") as client:
        url = client.post("/api/tickets", json={"path": path}).json()["url"]
    assert url.startswith(f"{path}&ticket=")
    assert httpx.get(viewer.address + url).headers["content-type"] == "image/png"
    assert httpx.get(viewer.address + url.replace("width=8", "width=9")).status_code == 403
    assert httpx.get(viewer.address + url.replace("screenshot", "scene")).status_code == 403
    assert httpx.put(viewer.address + url.replace("screenshot", "camera"), json={}).status_code == 403


def test_an_agents_statement_needs_the_owners_token(viewer: Instance) -> None:
    stated = f"run-1 {viewer.address} own"
    for token, status in ((viewer.session.access.token, 200), ("wrong", 403)):
        headers = {"Pellucid-Agent": f"{token} {stated}"}
        assert httpx.get(f"{viewer.address}api/scene", headers=headers).status_code == status


def test_the_server_proves_itself_without_a_connection(viewer: Instance) -> None:
    opened = begun(viewer)
    body = {"session": opened["session"], "nonce": "mine"}
    proof = httpx.post(f"{viewer.address}api/prove", json=body).json()["proof"]
    assert proof == sign(opened["key"], "http", "mine", viewer.address)
