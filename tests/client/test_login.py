"""Where the token of a Hub is sent: to its owner's agent there, and to nobody else."""

import pytest

from pellucid.client.login import HubLogin, login
from pellucid.errors import InvalidInput

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
