"""The address at which other nodes reach this one.

Here: own_host.
Not here: which Workers are on which node (folders, allocation).
"""

import os
import socket
from functools import cache

from pellucid.cluster.handles import checked_host


@cache
def own_host(driver_host: str) -> str:
    """The IPv4 address at which other nodes reach this one: SPARK_LOCAL_IP, or the one on the way to the driver."""
    stated = os.environ.get("SPARK_LOCAL_IP", "")
    if stated.count(".") == 3 and stated.replace(".", "").isdecimal():
        return checked_host(stated)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((driver_host or "localhost", 9))  # Nothing is sent.
        return checked_host(probe.getsockname()[0])
