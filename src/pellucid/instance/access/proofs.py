"""How a page, a program and a server prove to each other that they hold the same secret, without sending it.

Here: the keyed hash, and the name of a secret.
Not here: which secrets there are (sessions).
"""

import hashlib
import hmac


def sign(key: str, *words: str) -> str:
    """A keyed hash (HMAC-SHA256) of words without spaces.

    >>> sign("key", "server", "a", "b")[:8]
    'dab56ad9'
    """
    return hmac.new(key.encode(), " ".join(words).encode(), hashlib.sha256).hexdigest()


def hash_secret(secret: str) -> str:
    """What names a secret to the process that issued it, and is of no use to any other."""
    return hashlib.sha256(secret.encode()).hexdigest()
