"""Checks of the numbers of a reconstruction.

Here: check_number, which refuses NaN, infinity, text and numbers out of range, for every setting in the same words.
Not here: what the numbers mean (recipe, phase, rings, assembly).
"""

from math import inf, isfinite
from numbers import Integral, Real

from pellucid.errors import InvalidInput


def check_number(
    what: str, value: object, *, least: float = -inf, above: float = -inf, most: float = inf, is_whole: bool = False
) -> None:
    """Refuse what is no finite number of the range. above: it has to be larger; least, most: it may also be equal.

    >>> check_number("The tilt", float("nan"))
    Traceback (most recent call last):
    pellucid.errors.InvalidInput: The tilt is nan. Use a finite number.
    >>> check_number("The pixel size", 0, above=0)
    Traceback (most recent call last):
    pellucid.errors.InvalidInput: The pixel size is 0. Use a number above 0.
    """
    is_number = isinstance(value, Integral if is_whole else Real) and not isinstance(value, bool)
    if is_number and isfinite(number := float(value)) and least <= number <= most and number > above:  # type: ignore[arg-type]
        return
    limits = [f"above {above:g}"] if above > -inf else []
    limits += [f"from {least:g}"] if least > -inf else []
    limits += [f"up to {most:g}"] if most < inf else []
    kind = "a whole number" if is_whole else "a number" if limits else "a finite number"
    raise InvalidInput(f"{what} is {value!r}.", remedy=f"Use {' '.join([kind, *limits])}.")
