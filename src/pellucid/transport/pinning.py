"""TLS to a server that is identified by the SHA-256 of its certificate, its pin.

Here: the pin of a certificate, and whether a connection shows the pinned one.
Not here: addresses with pins (address, client), certificates that authorities signed (the system's).

The pin stands for the chain of trust: a certificate is made for one run, names no machine, and is not signed. So
nothing may be sent before shows_pin is true.
"""

import hashlib
import ssl


def certificate_pin(pem: str) -> str:
    """The SHA-256 of a certificate in PEM form, as 64 hexadecimal digits."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def pinned_context() -> ssl.SSLContext:
    """For a connection whose certificate is compared with a pin afterwards: it accepts any."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def shows_pin(connection: ssl.SSLSocket, pin: str) -> bool:
    """Whether the other end of a connection holds the pinned certificate."""
    return hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest() == pin
