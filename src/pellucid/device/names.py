"""Names of devices, as users write them.

Here: parse_device_name.
Not here: whether there is such a device (hardware).
"""

from pellucid.errors import InvalidInput
from pellucid.settings import DEVICE_NAME


def parse_device_name(name: str, *others: str) -> tuple[str, int | None]:
    """Its kind and number. others: names that are valid too.

    >>> parse_device_name("cuda:1"), parse_device_name("mps", "mps")
    (('cuda', 1), ('mps', None))
    >>> parse_device_name("gpu")
    Traceback (most recent call last):
    pellucid.errors.InvalidInput: Unknown device 'gpu'. Use auto, cpu, cuda or cuda:1.
    """
    if name not in others and not DEVICE_NAME.fullmatch(name):
        *valid, last = "auto", "cpu", "cuda", "cuda:1", *others
        raise InvalidInput(f"Unknown device {name!r}.", remedy=f"Use {', '.join(valid)} or {last}.")
    kind, _, number = name.partition(":")
    return kind, int(number) if number else None
