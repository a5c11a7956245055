"""Evaluates a certificate that comes from outside, unless its look-ahead rows have huge prices.

The reader multiplies sums of prices by rounds in 64 bits, also where all else is in Python's
integers (``formulations.lagrangian.certificate_lookahead``).  No search makes prices so large.
"""

from __future__ import annotations

from formulations.lagrangian import certificate as reader
from formulations.lagrangian.certificate_file import Certificate, CertificateError, read_certificate
from instances import Instance

#: What the prices of a row, times the rounds that a request runs, stay below.
_MOST = 1 << 62


def evaluate(instance: Instance, certificate: Certificate) -> int:
    """Return the bound (rounds) that a certificate proves, as the reader does.

    Raises
    ------
    CertificateError
        Where the reader does, or where prices of look-ahead rows are too large for it.
    """
    peak = max((request.peak for request in instance.requests), default=0)
    # No part has parts: the reader refuses them.
    for each in (certificate, *(read_certificate(part.certificate) for part in certificate.parts)):
        _refuse_large(each, peak)
    return reader.evaluate(instance, certificate)


def _refuse_large(certificate: Certificate, peak: int) -> None:
    for number, row in enumerate(certificate.lookahead):
        times = max(row.times) - min(row.times) + 1
        if times * max(map(abs, row.prices), default=0) * peak >= _MOST:
            raise CertificateError(f"lookahead {number}: expected smaller prices")
