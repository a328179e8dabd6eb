"""What pages that were open before a restart of the viewer, or of its agent, may do after it."""

import pytest

from pellucid.instance.access.sessions import Access, AccessChannel, Grant

OWN = "http://127.0.0.1:8000/"
DIRECT = AccessChannel(OWN)
THROUGH_AGENT = AccessChannel("http://127.0.0.1:9000/i/0123456789/", "run-1")


@pytest.fixture
def access() -> Access:
    return Access(OWN)


def test_an_owners_page_finds_a_viewer_again_that_was_killed(access: Access) -> None:
    owner, guest = access.begin(Grant("own"), OWN, DIRECT), access.begin(access.share("view").grant, OWN, DIRECT)
    restarted = Access(OWN, access.root)
    again = restarted.known(owner.id, DIRECT.address, DIRECT)
    assert again is not None and again.key == owner.key and again.token != owner.token
    stranger = restarted.known(guest.id, DIRECT.address, DIRECT)
    assert stranger is not None and stranger.key != guest.key
    assert Access(OWN).known(owner.id, DIRECT.address, DIRECT).key != owner.key  # type: ignore[union-attr]
    elsewhere = Access("http://127.0.0.1:8001/", access.root)
    moved = elsewhere.known(owner.id, elsewhere.address, AccessChannel(elsewhere.address))
    assert moved is not None and moved.address != owner.address  # A relayed page sees that in the proof.


def test_after_a_restart_a_page_goes_on_at_a_new_address(access: Access) -> None:
    owner = access.begin(Grant("own"), OWN, DIRECT)
    assert access.new_link(owner, DIRECT) == ""
    restarted = Access("http://0123456789abcdef.localhost:8000/", access.root)
    channel = AccessChannel(restarted.address)
    again = restarted.known(owner.id, OWN, channel)
    assert again is not None
    address, _, code = restarted.new_link(again, channel).partition("#code=")
    assert address == restarted.address and restarted.redeem(code, channel).capability == "own"
    assert restarted.grant(again.token, channel) is None  # At the old address there is nothing to steal.


def test_where_no_other_user_can_listen_a_page_stays(access: Access) -> None:
    """Behind a Hub: its proxy has the address, whatever is restarted behind it."""
    hub = "https://view.site.org/user/ada/i/0123456789/"
    owner = access.begin(Grant("own", "run-1"), hub, AccessChannel(hub, "run-1"))
    later = AccessChannel(hub, "run-2")
    again = access.known(owner.id, hub, later)
    assert again is not None and again.is_earlier and access.new_link(again, later) == ""


def test_an_owners_page_goes_on_through_the_next_agent_and_a_guests_does_not(access: Access) -> None:
    owner = access.begin(Grant("own", "run-1"), THROUGH_AGENT.address, THROUGH_AGENT)
    guest = access.begin(access.share("view", agent="run-1").grant, THROUGH_AGENT.address, THROUGH_AGENT)
    later = AccessChannel(THROUGH_AGENT.address, "run-2")
    again = access.known(owner.id, later.address, later)
    assert again is not None and again.key == owner.key and again.token != owner.token
    assert access.known(guest.id, later.address, later) is None
    for relayed in (DIRECT, AccessChannel("http://127.0.0.1:9001/i/0123456789/", "run-2")):
        assert access.known(owner.id, relayed.address, relayed) is None
