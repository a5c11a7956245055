"""Command: exact worst ratios on small instances, ``python -m claims.worst_cases``."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from claims.tables import pipe_table
from claims.worst_cases.search import POLICIES, Worst, worst
from instances.checkout import require_checkout
from instances.command import CHECK_OPTION, QUIET_OPTION, Command, Options, option
from instances.committed import regenerate
from instances.jsonfile import write_text
from instances.usage import UsageError

_PROGRAM = "python -m claims.worst_cases"
FOLDER = Path(__file__).parent
ROWS = FOLDER / "rows.csv"
_COLUMNS = ("policy", "n", "memory", "tel", "optimum", "requests")
_HEAD = """\
# Exact worst cases on small instances

For each policy the largest TEL over the optimum, among **all** instances of n requests with memory
M, in every order of the requests.  All arrive at 0; a request is (s, o) with s ≥ 0, o ≥ 1,
s + o ≤ M.  The optimum is exact, by dynamic programming, and so is the ratio: on instances of these
sizes the policy does no worse.  Policies are ranked by it, over all sizes below.

A ratio that does not grow with M here may do so later: MC-SF has no constant ratio (W Theorem 2.1).

```sh
python -m claims.worst_cases --run 3,5     # all instances of 3 requests and 5 tokens again
python -m claims.worst_cases --check       # is the page what the rows give?
```

"""


def _size(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.isdecimal() and 1 <= int(part) <= 9 for part in parts):
        raise ValueError(f"expected n,M of 1 to 9 each, found {text!r}")
    return int(parts[0]), int(parts[1])


@click.command(_PROGRAM, cls=Command, examples=("--check", "--run 3,5"))
@option("--run", type=_size, metavar="N,M", help="go through all instances of this size")
@CHECK_OPTION
@QUIET_OPTION
def main(options: Options) -> int:
    """Write the page of the exact worst ratios from the committed rows."""
    if options.run and options.check:
        raise UsageError("--run: not allowed with --check")
    rows = read_rows()
    if options.run:
        require_checkout("--check writes nothing")
        rows = [row for row in rows if (row.n, row.memory) != options.run] + worst(*options.run)
        write_text(ROWS, rows_text(rows))
    page = FOLDER / "README.md"
    return regenerate(_PROGRAM, {page: page_text(rows)}, FOLDER.glob("*.md"), check=options.check)


def read_rows() -> list[Worst]:
    """Return the committed rows."""
    if not ROWS.exists():
        return []
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [
            Worst(
                policy=row["policy"],
                requests=tuple(_pair(each) for each in row["requests"].split()),
                **{name: int(row[name]) for name in ("n", "memory", "tel", "optimum")},
            )
            for row in csv.DictReader(file)
        ]


def _pair(text: str) -> tuple[int, int]:
    prompt, output = text.split("+")
    return int(prompt), int(output)


def rows_text(rows: Sequence[Worst]) -> str:
    """Return the rows as the file holds them."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    for row in sorted(rows, key=lambda row: (row.policy, row.n, row.memory)):
        requests = " ".join(f"{s}+{o}" for s, o in row.requests)
        table.writerow([row.policy, row.n, row.memory, row.tel, row.optimum, requests])
    return text.getvalue()


def page_text(rows: Sequence[Worst]) -> str:
    """Return the page: policies by their worst ratio, and a table over n and M."""
    sizes = sorted({(row.n, row.memory) for row in rows})
    of_policy = {name: [row for row in rows if row.policy == name] for name in POLICIES}
    ranked = sorted(
        (max(own, key=lambda row: (row.ratio, -row.n, -row.memory)) for own in of_policy.values()),
        key=lambda row: (row.ratio, row.policy),
    )
    table = [
        [
            f"`{row.policy}`",
            f"{float(row.ratio):.4f} = {row.tel}/{row.optimum}",
            f"M = {row.memory}",
            ", ".join(f"({s}, {o})" for s, o in row.requests),
        ]
        for row in ranked
    ]
    ratios = {(row.policy, row.n, row.memory): f"{float(row.ratio):.3f}" for row in rows}
    by_size = [
        [str(n), str(memory), *(ratios[row.policy, n, memory] for row in ranked)]
        for n, memory in sizes
    ]
    heads = ["n", "M", *(f"`{row.policy}`" for row in ranked)]
    return (
        f"{_HEAD}{pipe_table(['policy', 'worst ratio', 'memory', 'requests'], table)}\n"
        f"## By n and M\n\n{pipe_table(heads, by_size)}"
    )


if __name__ == "__main__":
    sys.exit(main())
