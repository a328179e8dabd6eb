"""Where the token of a Hub is sent: to its owner's agent there, and to nobody else."""

from dataclasses import replace
from pathlib import Path

import pytest

from pellucid.client.connection import Connection
from pellucid.client.login import HubLogin, logged_in, login
from pellucid.errors import InvalidInput
from pellucid.settings import current, use

ADA = HubLogin("https://site.org", "ada", "secret")


@pytest.mark.parametrize(
    ("url", "is_covered"),
    [
        ("https://site.org/user/ada/", True),
        ("https://site.org:443/user/ada/i/0123456789/#code=a", True),
        ("https://site.org/user/%61da/", True),
        ("https://site.org/user/adaptive/", False),
        ("https://site.org/user/bob/", False),
        ("http://site.org/user/ada/", False),
        ("https://site.org:444/user/ada/", False),
        ("https://elsewhere.org/user/ada/", False),
        ("https://bob.site.org/user/ada/", False),
        ("https://node:4433/#code=a", False),
    ],
)
def test_only_the_persons_own_agent_is_told_the_token(url: str, is_covered: bool) -> None:
    assert ADA.covers(url) is is_covered


def test_the_hub_may_say_that_it_is_at_another_name() -> None:
    elsewhere = HubLogin("https://site.org", "ada", "secret", "https://ada.site.org/user/ada/")
    assert elsewhere.covers("https://ada.site.org/user/ada/i/0123456789/")
    assert not elsewhere.covers("https://bob.site.org/user/ada/")


def test_the_token_is_not_shown() -> None:
    assert "secret" not in repr(ADA)


@pytest.mark.parametrize("url", ["site.org", "ftp://site.org", "https://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="is not the address of a Hub"):
        login(url, "token")


def test_where_nobody_can_be_asked_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("getpass.getpass", nobody)
    with pytest.raises(InvalidInput, match="No terminal to ask"):
        login("https://site.org")


@pytest.mark.parametrize(
    ("server", "address"),
    [
        (
            {"ready": True, "full_url": "https://ada.site.org/user/ada/", "pending": None},
            "https://ada.site.org/user/ada/",
        ),
        ({"ready": True, "url": "/user/ada/"}, "https://site.org/user/ada/"),
        ({"ready": False, "pending": "spawn"}, None),
        (None, None),
    ],
)
def test_the_hub_says_where_the_agent_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: dict[str, object] | None, address: str | None
) -> None:
    reply = {"name": "ada", "servers": {} if server is None else {"": server}}
    monkeypatch.setattr(Connection, "ask", lambda *_: reply)
    with use(replace(current(), state_folder=tmp_path)):
        found = ADA.found()
    assert (None if found is None else found.agent_url) == address


def test_a_log_in_is_kept_and_a_damaged_one_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Connection, "ask", lambda *_: {"name": "ada", "admin": False})
    with use(replace(current(), state_folder=tmp_path)):
        login("https://site.org/hub", "secret")
        assert logged_in() == ADA
        (tmp_path / "hub.json").write_text('{"url": "https://site.org", "user": 3, "token": "secret"}')
        assert logged_in() is None
