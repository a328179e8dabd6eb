"""Requests that a page of another address makes.

Here: is_cross_origin, by the Origin header.
Not here: refusing them (auth), a host name that other pages cannot guess (loopback).
"""

from urllib.parse import urlsplit


def is_cross_origin(origin: str | None, host: str, forwarded: str) -> bool:
    """Whether a page from elsewhere asks. forwarded: what a proxy says it was asked for, which no page can say.

    >>> is_cross_origin("https://site.org", "node:8443", "site.org")
    False
    >>> is_cross_origin("https://elsewhere.org", "site.org", "")
    True
    """
    known = {host, *(name.strip() for name in forwarded.split(","))} - {""}
    return origin is not None and _host_of(origin) not in known


def _host_of(origin: str) -> str:
    """Host and port of an address; nothing where it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
