"""Checks of numbers in scenes.

Here: refusing those that mean nothing: NaN and infinite ones, directions without a length, shares beyond 0 to 1.
Not here: what the numbers are of (scene, camera, transfer).
"""

from collections.abc import Sequence
from math import hypot, isfinite

from pellucid.errors import InvalidInput

MIN_LENGTH = 1e-30
"""A direction of which float32 still knows where it points."""


def check_finite(what: str, *numbers: float) -> None:
    """Refuse NaN and infinite numbers.

    >>> check_finite("A scale", 1.0, float("nan"))
    Traceback (most recent call last):
    pellucid.errors.InvalidInput: A scale of 1.0, nan is not finite. Use finite numbers.
    """
    if not all(map(isfinite, numbers)):
        raise InvalidInput(f"{what} of {_listed(numbers)} is not finite.", remedy="Use finite numbers.")


def check_direction(what: str, vector: Sequence[float]) -> None:
    """Refuse what points nowhere."""
    check_finite(what, *vector)
    if not MIN_LENGTH < hypot(*vector) < 1 / MIN_LENGTH:
        raise InvalidInput(f"{what} of {_listed(vector)} has no direction.", remedy="Use a vector such as (0, 0, 1).")


def check_shares(what: str, *numbers: float) -> None:
    """Refuse what is not from 0 to 1: opacities, and the channels of colours."""
    if not all(0 <= number <= 1 for number in numbers):
        raise InvalidInput(f"{what} of {_listed(numbers)} is out of range.", remedy="Use numbers from 0 to 1.")


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(map(str, numbers))
