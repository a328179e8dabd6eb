"""Units of length, one spelling each.

Here: the many spellings that files use, and the short one that a Header carries.
Not here: converting spacings for display (cli, rendering).
"""

from pellucid.printable import printable

MAX_LETTERS = 40
_SPELLINGS = {
    "m": ("m", "meter", "metre", "meters", "metres"),
    "cm": ("cm", "centimeter", "centimetre", "centimeters", "centimetres"),
    "mm": ("mm", "millimeter", "millimetre", "millimeters", "millimetres"),
    "um": ("um", "µm", "μm", "micron", "microns", "micrometer", "micrometre", "micrometers", "micrometres", "\\u00b5m"),
    "nm": ("nm", "nanometer", "nanometre", "nanometers", "nanometres"),
    "angstrom": ("angstrom", "angstroms", "å", "Å"),
    "inch": ("inch", "inches", "in"),
    "": ("", "pixel", "pixels", "voxel", "none", "1"),
}
_SHORT = {spelling: short for short, spellings in _SPELLINGS.items() for spelling in spellings}

METRES = {"m": 1.0, "cm": 1e-2, "inch": 2.54e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9, "angstrom": 1e-10}


def short_unit(text: str) -> str:
    """The short spelling of a unit; what is not known stays as it is.

    >>> short_unit("micrometer"), short_unit("Millimetre"), short_unit("parsec")
    ('um', 'mm', 'parsec')
    """
    cleaned = printable(text.strip().strip('"')).replace("\n", " ")[:MAX_LETTERS]
    return _SHORT.get(cleaned, _SHORT.get(cleaned.lower(), cleaned))
