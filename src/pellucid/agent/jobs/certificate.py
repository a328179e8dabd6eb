"""A certificate for one viewer, created when it starts.

Here: make_certificate.
Not here: listening with it (instance), believing no other (proxy).
"""

import os
import subprocess
from pathlib import Path

from pellucid.errors import PellucidError
from pellucid.transport.address import Certificate

LASTS_DAYS = 365


def make_certificate(folder: Path) -> Certificate:
    """In a folder that only its owner can enter."""
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-batch",
        "-subj", "/CN=pellucid", "-days", str(LASTS_DAYS), "-out", str(made.certificate), "-keyout", str(made.key),
    ]  # fmt: skip
    # The key must not be readable for a moment, either.
    os.close(os.open(made.key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        what = "openssl was not found; it is needed to encrypt connections between machines."
        raise PellucidError(what, remedy="Install openssl on the compute nodes.") from error
    if done.returncode:
        raise PellucidError(
            f"Could not create a certificate: {done.stderr.strip()}.", remedy="Check the installation of openssl."
        )
    return made
