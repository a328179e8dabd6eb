"""Units of angles, as files write them.

Here: degrees_per(), and the unit that the name of a column states.
Not here: lengths (formats.units).
"""

from math import degrees

from pellucid.errors import InvalidInput

_DEGREES = {
    1.0: ("deg", "degs", "degree", "degrees", "°", "º"),
    degrees(1.0): ("rad", "rads", "radian", "radians"),
    1e-3: ("mdeg", "mdegs", "millidegree", "millidegrees", "millidegs", "millideg"),
    degrees(1e-3): ("mrad", "mrads", "milliradian", "milliradians", "millirad", "millirads"),
}
UNITS = {spelling: factor for factor, spellings in _DEGREES.items() for spelling in spellings}


def degrees_per(unit: str, name: str) -> float:
    """How many degrees one of a unit is; without a unit, angles are in degrees. name: of what is stored in it.

    >>> degrees_per("deg", "theta"), degrees_per("", "theta"), degrees_per("mdeg", "theta")
    (1.0, 1.0, 0.001)
    """
    spelled = unit.strip().strip("[]()").strip().lower()
    if not spelled:
        return 1.0
    if spelled not in UNITS:
        raise InvalidInput(
            f"{name} has the unit {unit!r}, which is not a known unit of angles.",
            remedy="Set the angles with --angles: 0:180, or a file with one angle in degrees per line.",
        )
    return UNITS[spelled]
