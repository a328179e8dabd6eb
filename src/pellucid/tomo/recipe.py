"""The settings of a reconstruction, apart from the scan and the output.

Here: Recipe, checked when it is made.
Not here: what the steps do (correction, rings, filters and so on), their order (slabs).
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from pellucid.choices import check_choice
from pellucid.errors import InvalidInput
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.geometry.axis import METHODS as AXIS_METHODS
from pellucid.tomo.methods.filters import FILTERS, PADDINGS
from pellucid.tomo.number_check import check_number

METHODS = ("direct", "gridding", "sirt", "cgls")
USUAL_ITERATIONS = {"sirt": 200, "cgls": 20}
"""With these, the error of a slice without noise is within a few percent of the least that any number leaves."""

AUTOMATIC, WHEN_CLEAR = "auto", "when-clear"

USED_BY = {
    "filter": ("direct", "gridding"),
    "padding": ("direct", "gridding"),
    "iterations": ("sirt", "cgls"),
    "is_nonnegative": ("sirt",),
}
"""Settings that only some methods use."""

MAX_ROLL_DEG = 45.0


@dataclass(frozen=True)
class Recipe:
    """All settings of a reconstruction, with sensible defaults.

    center: column of the rotation axis in the middle row, "auto", or the name of a search method. tilt: columns that
    the axis moves from one row to the next; "auto": measured; "when-clear": measured together with the center, and
    corrected if it is significant. is_offset: a full turn with the axis near the edge of the detector, whose opposite
    views are joined. roll_deg: rotation of the detector against the axis, or "auto"; projections are rotated first.
    binning: detector pixels along the edge of a voxel. phase: retrieved from whole projections first, or None. zingers:
    a pixel that attenuates less than its neighbours by this amount is replaced; 0 for none. air: columns at both ends
    that show only air, 0 for none. rings: how rings are removed. filter, padding: of direct and gridding. iterations:
    of sirt and cgls, 0 for the default of the method. is_nonnegative: of sirt. is_circle: whether pixels that not all
    views see stay 0.
    """

    center: float | str = AUTOMATIC
    tilt: float | str = WHEN_CLEAR
    is_offset: bool = False
    roll_deg: float | str = 0.0
    binning: int = 1
    phase: Paganin | None = None
    zingers: float = 0.0
    air: int = 0
    rings: RingSettings = field(default_factory=lambda: RingSettings(method="none"))
    method: str = "direct"
    filter: str = "chesler"
    padding: str = "auto"
    iterations: int = 0
    is_nonnegative: bool = False
    is_circle: bool = True

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("filter", self.filter, tuple(FILTERS))
        check_choice("padding", self.padding, PADDINGS)
        if isinstance(self.center, str):
            check_choice("center", self.center, (AUTOMATIC, *AXIS_METHODS))
        self._check_numbers()
        self._check_slope()

    def _check_numbers(self) -> None:
        for what, value in (("center", self.center), ("tilt", self.tilt)):
            if not isinstance(value, str):
                check_number(f"The {what}", value)
        if not isinstance(self.roll_deg, str):
            check_number("The roll in degrees", self.roll_deg, least=-MAX_ROLL_DEG, most=MAX_ROLL_DEG)
        check_number("The binning", self.binning, least=1, is_whole=True)
        check_number("The number of iterations", self.iterations, least=0, is_whole=True)
        check_number("The number of columns of air", self.air, least=0, is_whole=True)
        check_number("The threshold of zingers", self.zingers, least=0)

    def _check_slope(self) -> None:
        """An axis that runs aslant is followed row by row (tilt), or put upright with the detector (roll)."""
        has_tilt = self.tilt not in (0, WHEN_CLEAR)
        if has_tilt and self.roll_deg != 0:
            raise InvalidInput("tilt and roll cannot be combined.", remedy="Set one of them to 0.")
        if self.is_offset and (has_tilt or self.roll_deg != 0):
            raise InvalidInput("Offset scans do not support a tilted axis.", remedy="Set tilt and roll to 0.")
        for what, value, choices in (
            ("tilt", self.tilt, (AUTOMATIC, WHEN_CLEAR)),
            ("roll", self.roll_deg, (AUTOMATIC,)),
        ):
            if isinstance(value, str) and value != WHEN_CLEAR:
                check_choice(what, value, choices)
                if not isinstance(self.center, str):
                    raise InvalidInput(
                        f"The {what} of an axis is found together with its center.", remedy="Set both, or neither."
                    )

    @property
    def iteration_count(self) -> int:
        """Iterations that are made; 0 of methods that make none.

        >>> Recipe(method="sirt").iteration_count, Recipe(method="cgls", iterations=7).iteration_count
        (200, 7)
        """
        return (self.iterations or USUAL_ITERATIONS[self.method]) if self.method in USUAL_ITERATIONS else 0

    @property
    def is_slope_sought(self) -> bool:
        """Whether tilt or roll are to be measured, with the center; never of an offset scan."""
        is_usual = self.tilt == WHEN_CLEAR and self.roll_deg == 0 and isinstance(self.center, str)
        return not self.is_offset and (AUTOMATIC in (self.tilt, self.roll_deg) or is_usual)

    @property
    def unused(self) -> list[str]:
        """Settings that are not as they are by default, and that the method does not use.

        >>> Recipe(method="sirt", filter="hann", iterations=7).unused
        ['filter']
        """
        usual = Recipe()
        changed = [name for name in USED_BY if getattr(self, name) != getattr(usual, name)]
        return [name for name in changed if self.method not in USED_BY[name]]

    def as_words(self) -> dict[str, Any]:
        """For the report of a run: every choice by its name, with the iterations that were made."""
        return {**asdict(self), "iterations": self.iteration_count}
