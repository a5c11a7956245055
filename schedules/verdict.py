"""Verdict of the checker on a schedule."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["valid", "malformed", "infeasible"]

EXIT_CODES: dict[Kind, int] = {"valid": 0, "malformed": 10, "infeasible": 21}


@dataclass(frozen=True)
class Verdict:
    """Result of the checker; ``check`` describes which of several faults it reports.

    Attributes
    ----------
    kind
        ``valid``; ``malformed`` where the schedule is not one of this instance or claims what is
        not so (hash, counts, TEL, bound, optimality); ``infeasible`` where it cannot be run
        (start before arrival, overlapping attempts, more tokens than the memory, a round that
        begins before the one before ends).
    reason
        One line for a person.
    time
        The first violating time (rounds) of an infeasible schedule, else None.
    tokens
        Tokens held at that time, where the memory is exceeded, else None.
    request_ids
        Ids of the requests concerned, sorted: for the memory all that hold tokens at that time.
    """

    kind: Kind
    reason: str
    time: int | None = None
    tokens: int | None = None
    request_ids: tuple[int, ...] = ()

    @property
    def valid(self) -> bool:
        """Return whether the schedule can be run and all its claims hold."""
        return self.kind == "valid"

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 valid, 10 malformed, 21 infeasible."""
        return EXIT_CODES[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def malformed(reason: str, *request_ids: int) -> Verdict:
    """Return the verdict on a schedule that is not one of the instance or makes a false claim."""
    return Verdict("malformed", reason, request_ids=request_ids)
