"""Limits of the evaluation of a certificate: its length and its instance pay for the work.

Work is counted before it is done.  So a short certificate is proved or refused within seconds,
whatever it holds, and a file of many costs a reader no more than its length allows.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Annotated

from pydantic import Field

#: Integers of certificates have at most 63 bits, so that arithmetic on them is quick.
Count = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]
Positive = Annotated[int, Field(strict=True, ge=1, lt=1 << 63)]
Integer = Annotated[int, Field(strict=True, gt=-1 << 63, lt=1 << 63)]
#: A reader of a long list stops at its first fault.
Counts = Annotated[tuple[Count, ...], Field(fail_fast=True)]

#: Steps that are free, that each request of the instance and each character of the certificate pay
#: for, and the most of all.  A step takes one to three nanoseconds, with wide bases up to twelve.
FREE_STEPS, STEPS_OF_A_REQUEST, STEPS_OF_A_CHARACTER = 500_000_000, 200_000, 1_500_000
MOST_STEPS = 25_000_000_000
#: Numbers of 64 bits held at a time, likewise.
FREE_NUMBERS, NUMBERS_OF_A_REQUEST, NUMBERS_OF_A_CHARACTER = 3_000_000, 1_000, 10_000
MOST_NUMBERS = 1 << 26
#: Steps of a call of NumPy, and of an operation on Python's integers.
CALL, OPERATION = 1_000, 50


class CertificateError(ValueError):
    """A certificate proves nothing; the message is one line."""


class TooLongError(CertificateError):
    """An evaluation takes or holds more than its certificate pays for."""


class ReaderBudget:
    """The ``steps`` left, and the most ``numbers`` of 64 bits held at a time; parts share one."""

    def __init__(self, requests: int, document: object) -> None:
        size = size_of(document)
        paid = FREE_STEPS + STEPS_OF_A_REQUEST * requests + STEPS_OF_A_CHARACTER * size
        self.allowed = self.steps = min(MOST_STEPS, paid)
        paid = FREE_NUMBERS + NUMBERS_OF_A_REQUEST * requests + NUMBERS_OF_A_CHARACTER * size
        self.numbers = min(MOST_NUMBERS, paid)

    def take(self, steps: int) -> None:
        """Count steps before an evaluation takes them; raise TooLongError if too few are left."""
        self.steps -= steps
        if self.steps < 0:
            raise TooLongError(
                f"the evaluation takes more than the {self.allowed} steps its length pays for"
            )

    def hold(self, numbers: int) -> None:
        """Raise TooLongError if an evaluation holds more numbers than its length pays for."""
        if numbers > self.numbers:
            raise TooLongError(
                f"the evaluation holds more than the {self.numbers} numbers its length pays for"
            )


def size_of(document: object) -> int:
    """Return about how many characters the values of a certificate have, read or as JSON."""
    size, open_ = 0, [document]
    while open_:
        each = open_.pop()
        if isinstance(each, Mapping):
            open_ += each.values()
        elif is_dataclass(each):
            open_ += vars(each).values()
        elif isinstance(each, list | tuple):
            open_ += each
        elif isinstance(each, int):
            size += each.bit_length() * 3 // 10  # a digit has about 10/3 bits
        size += 1
    return size
