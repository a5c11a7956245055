"""How much an evaluation of a certificate may take, and how much of it is done at a time."""

from __future__ import annotations

from formulations.lagrangian.budget import Budget
from formulations.lagrangian.certificate_file import CertificateError

#: Steps of an evaluation, of all parts together, beyond which a certificate is refused before any
#: is taken.  A step adds two numbers of 64 bits, some nanoseconds; larger numbers count one for
#: each of their bits.
MOST_STEPS = 4_000_000_000
#: Steps of a start, beside those for each of its windows or tokens.
STEPS_OF_A_START = 4
#: Steps of a start in a look-ahead row that holds a round of its run.
STEPS_OF_A_ROW = 6
#: Numbers of 64 bits that are held at a time, one GiB; larger ones count as above.
MOST_HELD = 1 << 27
#: Numbers that are held for each time of a look-ahead row, for each time up to the last price of
#: any row, and for each start of a request, where there are rows.
HELD_OF_A_ROW, HELD_OF_A_TIME, HELD_OF_A_START = 8, 12, 4
#: Starts that are priced at a time, few enough for a processor's cache.
STARTS = 1 << 14


def refuse_long(budget: Budget, steps: int, held: int = 0) -> None:
    """Take steps of a budget, and refuse an evaluation that takes or holds too much.

    Raises
    ------
    CertificateError
        With one line.
    """
    if not budget.take("steps", steps, MOST_STEPS):
        raise CertificateError(f"the evaluation takes more than {MOST_STEPS} steps")
    if held > MOST_HELD:
        raise CertificateError(f"the evaluation holds more than {MOST_HELD} numbers")
