"""Requests to the role "user_code": a user's PyTorch module, drawn as a field.

Here: requests as typed data.
Not here: their replies (replies), what is announced meanwhile (announcements), all other requests (requests).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class OpenModule:
    """Load a module; answered by ModuleOpened. path: a Python file or an exported program. name: of a class or a
    function in a Python file."""

    request: int
    path: str
    name: str


@dataclass(frozen=True)
class DraftModule:
    """Fill an array of the instance with values between a few of the module's; answered by ModuleDrafted.

    target: an array of float32. batch: points of one call; 0 for what suits the device.
    """

    request: int
    path: str
    name: str
    target: str
    batch: int = 0


@dataclass(frozen=True)
class FillModule:
    """Fill an array with the module's values, what is seen first; answered by Done. Boxes that are finished are
    announced as VoxelsChanged."""

    request: int
    path: str
    name: str
    target: str
    batch: int = 0


@dataclass(frozen=True)
class SetBatch:
    """From now on so many points in one call of the module that fills this array. There is no reply."""

    target: str
    batch: int


UserModuleRequest = OpenModule | DraftModule | FillModule | SetBatch
