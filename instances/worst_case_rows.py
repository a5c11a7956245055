"""Exact worst cases of policies, as rows that a search over all small instances has found.

``python -m papers.worst_cases`` makes the rows; the family ``worst-case`` of the library is the
worst of each policy, once where all requests arrive at 0 and once where they do not.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from instances.families.shared import numbered
from instances.instance import Instance
from support.message_text import csv_text

#: A request as (arrival, prompt, output), rounds and tokens.
Triple = tuple[int, int, int]
ROWS = Path(__file__).with_suffix(".csv")
_NUMBERS = ("n", "memory", "latest", "tel", "optimum")


@dataclass(frozen=True)
class WorstCase:
    """The largest TEL of a policy over the optimum among all instances of n, M, latest arrival."""

    policy: str
    n: int
    memory: int
    latest: int
    tel: int
    optimum: int
    requests: tuple[Triple, ...]

    @property
    def ratio(self) -> Fraction:
        """TEL over the optimum."""
        return Fraction(self.tel, self.optimum)

    @property
    def size(self) -> tuple[int, int, int]:
        """n, M, and the latest arrival."""
        return self.n, self.memory, self.latest


def read_rows() -> list[WorstCase]:
    """Return the committed rows."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [
            WorstCase(
                policy=row["policy"],
                requests=tuple(_triple(each) for each in row["requests"].split()),
                **{name: int(row[name]) for name in _NUMBERS},
            )
            for row in csv.DictReader(file)
        ]


def _triple(text: str) -> Triple:
    arrival, rest = text.split(":")
    prompt, output = rest.split("+")
    return int(arrival), int(prompt), int(output)


def format_worst_cases(rows: Iterable[WorstCase]) -> str:
    """Return rows as the file holds them."""
    cells = []
    for row in sorted(rows, key=lambda row: (row.policy, row.latest > 0, row.size)):
        requests = " ".join(f"{a}:{s}+{o}" for a, s, o in row.requests)
        cells.append([row.policy, *(getattr(row, name) for name in _NUMBERS), requests])
    return csv_text(("policy", *_NUMBERS, "requests"), cells)


def worst_of_each(rows: Sequence[WorstCase], *, arrivals: bool) -> list[WorstCase]:
    """Return the worst of each policy, the least bad policy first; the smallest among equals."""
    found: dict[str, WorstCase] = {}
    for row in sorted(rows, key=lambda row: row.size):
        best = found.get(row.policy)
        if (row.latest > 0) == arrivals and (best is None or row.ratio > best.ratio):
            found[row.policy] = row
    return sorted(found.values(), key=lambda row: (row.ratio, row.policy))


def worst_case_instances() -> Iterator[Instance]:
    """Yield the family; an instance that is the worst of several policies stands there once."""
    for arrivals in (False, True):
        shared: dict[tuple[int, tuple[Triple, ...]], list[WorstCase]] = {}
        for row in worst_of_each(read_rows(), arrivals=arrivals):
            if any(arrival for arrival, _, _ in row.requests) == arrivals:
                shared.setdefault((row.memory, row.requests), []).append(row)
        for rows in shared.values():
            yield _instance(rows)


def _instance(rows: Sequence[WorstCase]) -> Instance:
    first = rows[0]
    when = f"arrivals from 0 to {first.latest}" if first.latest else "all at 0"
    names = ", ".join(f"{row.policy} {row.tel}/{row.optimum}" for row in rows)
    end = "_arrivals" if first.latest else ""
    return Instance(
        name=f"worst_case_{first.policy.replace('-', '_')}{end}",
        family="worst-case",
        source=f"largest TEL/OPT of all n = {first.n}, M = {first.memory}, {when}: {names}",
        memory=first.memory,
        requests=numbered(list(first.requests)),
    )
