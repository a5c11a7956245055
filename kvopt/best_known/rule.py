"""The registry's case before the rule of evidence (:mod:`schedules.evidence`)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from instances import Instance
from kvopt.best_known.entry import Entry, Proof
from kvopt.methods.grammar import MethodError
from kvopt.methods.witness import certificate_witness, engine_witness
from schedules.evidence import Verdict, Witness, judge


def decide(
    instance: Instance,
    upper: int,
    lower: int,
    proofs: Iterable[Proof],
    certified: tuple[str, int],
) -> Verdict:
    """Decide what is known of the optimum of an instance of the library.

    The known optimum of such an instance follows from its construction.  The reason says what an
    optimum rests on: a certificate that is evaluated here, or what solvers report.

    Parameters
    ----------
    upper, lower
        TEL of the best checked schedule and the best bound, rounds.
    proofs
        Runs of engines that proved ``upper`` optimal.
    certified
        Kind of the best certificate, and what it was evaluated to (rounds).
    """
    engines = [engine_witness(each.method, each.value) for each in proofs]
    found = [*engines, certificate_witness(*certified)]
    return judge(upper, lower, found, construction=instance.known_optimum)


def witnesses_of(entry: Entry) -> list[Witness]:
    """Return the witnesses that an entry names, without those that cannot be read.

    Nothing is evaluated: ``python -m kvopt.best_known --check`` does that.
    """
    certified = entry.certified
    found: list[Witness] = []
    for proof in entry.proofs:
        with suppress(MethodError):
            found.append(engine_witness(proof.method, proof.value))
    return [*found, certificate_witness(certified.certificate, certified.value)]
