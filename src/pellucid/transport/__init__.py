"""Arrays between processes and machines: sent, received, asked for, streamed.

Here: what a program needs of it.
Not here: how it is done (the modules), running viewers (instance).
"""

from pellucid.transport.address import Address, Certificate
from pellucid.transport.client import Allocation, TransferOptions, allocate, retrieve, send, stream
from pellucid.transport.host import Host, OfferedArray, ReceivedArray, ReceiveLimits
from pellucid.transport.server import Listener, receive
from pellucid.transport.streams import StreamWriter
from pellucid.transport.wire.announcement import ArrayInfo
from pellucid.transport.wire.transfer import TransferReport

__all__ = [
    "Address",
    "Allocation",
    "ArrayInfo",
    "Certificate",
    "Host",
    "Listener",
    "OfferedArray",
    "ReceiveLimits",
    "ReceivedArray",
    "StreamWriter",
    "TransferOptions",
    "TransferReport",
    "allocate",
    "receive",
    "retrieve",
    "send",
    "stream",
]  # fmt: skip
