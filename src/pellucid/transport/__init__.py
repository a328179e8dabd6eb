"""Arrays between processes and machines: sent, received, asked for, streamed.

Here: what a program needs of it.
Not here: how it is done (the modules), running viewers (instance).
"""

from pellucid.transport.address import Address, Certificate
from pellucid.transport.announcement import Label
from pellucid.transport.connecting import Allocation, Options, allocate, retrieve, send, stream
from pellucid.transport.host import Host, Limits, Offer, Received
from pellucid.transport.listening import Listener, receive
from pellucid.transport.session import Report
from pellucid.transport.streaming import StreamWriter

__all__ = [
    "Address", "Allocation", "Certificate", "Host", "Label", "Limits", "Listener", "Offer", "Options", "Received",
    "Report", "StreamWriter", "allocate", "receive", "retrieve", "send", "stream",
]  # fmt: skip
