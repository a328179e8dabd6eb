"""Names of which a user chooses one.

Here: check_choice.
Not here: the names (the layer that offers them), the error (errors).
"""

from collections.abc import Iterable

from pellucid.errors import InvalidInput


def check_choice(what: str, chosen: str, choices: Iterable[str]) -> None:
    """Refuse a name that is none of the choices.

    >>> check_choice("axis", "w", ["x", "y", "z"])
    Traceback (most recent call last):
    pellucid.errors.InvalidInput: Unknown axis 'w'. Choose one of: x, y, z.
    """
    listed = list(choices)
    if chosen not in listed:
        raise InvalidInput(f"Unknown {what} {chosen!r}.", remedy=f"Choose one of: {', '.join(listed)}.")
