"""Certificates from outside with huge prices are refused before they are evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from formulations.lagrangian.certificate_file import CertificateError, read_certificate
from instances import Instance, Request
from kvopt.best_known.evaluated import evaluate

#: Its optimum is 4.
ONE = Instance("one", 4, (Request(0, 0, 0, 4),))


def _priced(price: int, **more: Any) -> dict[str, Any]:
    row = {"share": 1, "rounds": 3, "core": [0], "times": [4], "prices": [price]}
    return {"kind": "prices", "value": 0, "denominator": 2**68, "lookahead": [row], **more}


def _part(certificate: dict[str, Any]) -> dict[str, Any]:
    part = {"requests": [0], "starts": [0], "certificate": certificate}
    return {"kind": "parts", "value": 0, "parts": [part]}


@pytest.mark.parametrize(
    "forged",
    [
        _priced(2**62),
        _priced(2**62, upper_bound=4, denominator=1),
        _priced(2**63),
        _part(_priced(2**62)),
    ],
)
def test_huge_prices_prove_nothing(forged: dict[str, Any]) -> None:
    """The reader computes 5 and more of the first two, and an optimum of 4 is known."""
    with pytest.raises(CertificateError, match="lookahead 0: expected smaller prices"):
        evaluate(ONE, read_certificate(forged))


@pytest.mark.parametrize("price", [0, 2**40, 2**59])
def test_others_are_evaluated(price: int) -> None:
    """Up to where products stay within 64 bits."""
    assert evaluate(ONE, read_certificate(_priced(price))) <= 4
