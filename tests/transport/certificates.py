"""Certificates for tests, made by openssl as a site would make them."""

import subprocess
from pathlib import Path

from pellucid.transport.address import Certificate


def make_certificate(folder: Path) -> Certificate:
    files = Certificate(folder / "certificate.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=pellucid", "-keyout", str(files.key), "-out", str(files.certificate)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    return files
