"""What a page, a program and an instance say to each other, as typed data."""

from pellucid.instance.protocol.old import *  # noqa: F403
from pellucid.instance.protocol.old import _first  # noqa: F401
