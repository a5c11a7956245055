"""How much an evaluation of a certificate may take, and how much of it is done at a time."""

from __future__ import annotations

from formulations.lagrangian.certificate_file import CertificateError

#: Steps of an evaluation beyond which a certificate is refused before any is taken.  A step adds
#: two numbers of 64 bits, some nanoseconds; larger numbers count one for each of their bits.  Those
#: of the library take up to 10⁸, and searches for prices on states stop at a quarter of this.
MOST_STEPS = 4_000_000_000
#: Numbers of 64 bits that are held at a time, one GiB; larger ones count as above.
MOST_HELD = 1 << 27
#: Starts that are priced at a time.
STARTS = 1 << 20


def refuse_long(steps: int, held: int = 0) -> None:
    """Refuse an evaluation that takes or holds too much.

    Raises
    ------
    CertificateError
        With one line.
    """
    if steps > MOST_STEPS:
        raise CertificateError(f"the evaluation takes more than {MOST_STEPS} steps")
    if held > MOST_HELD:
        raise CertificateError(f"the evaluation holds more than {MOST_HELD} numbers")
