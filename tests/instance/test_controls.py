"""Who has the controls."""

import pytest

from pellucid.errors import InvalidInput, NotAllowed
from pellucid.instance.protocol.shared_types import Client
from pellucid.instance.websocket.controls import Controls

OWNER, ADA, BEN, EVE = (
    Client("owner", "Owner", "own"),
    Client("ada", "Ada", "control"),
    Client("ben", "Ben", "control"),
    Client("eve", "Eve", "view"),
)


def controls(*clients: Client) -> Controls:
    made = Controls()
    for client in clients:
        made.join(client)
    return made


def test_the_first_who_may_steer_has_them() -> None:
    assert controls(EVE, ADA, BEN).holder == "ada"
    assert controls(EVE).holder is None


def test_another_asks_and_is_given_them() -> None:
    made = controls(ADA, BEN)
    with pytest.raises(NotAllowed, match="Ada has the controls"):
        made.require("ben")
    made.request("ben")
    assert made.message().asking == ("ben",)
    made.hand_over("ada", "ben")
    assert (made.holder, made.message().asking) == ("ben", ())
    assert made.require("ben") is False


def test_the_owner_takes_them_at_once() -> None:
    made = controls(ADA, OWNER)
    made.request("owner")
    assert made.holder == "owner"


def test_free_ones_are_taken_by_who_needs_them() -> None:
    made = controls(ADA, BEN)
    made.hand_over("ada", None)
    assert made.require("ben") is True
    assert made.holder == "ben"


def test_who_leaves_hands_them_to_who_asked_first() -> None:
    made = controls(ADA, BEN, OWNER)
    made.request("ben")
    made.leave("ada")
    assert made.holder == "ben"
    made.leave("ben")
    assert made.holder is None


def test_what_cannot_be_given_is_refused() -> None:
    made = controls(ADA, BEN, EVE)
    with pytest.raises(NotAllowed, match="may only view"):
        made.hand_over("ada", "eve")
    with pytest.raises(InvalidInput, match="has disconnected"):
        made.hand_over("ada", "nobody")
    with pytest.raises(NotAllowed, match="do not have"):
        made.hand_over("ben", "ben")
