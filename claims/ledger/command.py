"""``kvopt claims``: the ledger, and one statement computed again."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from tabulate import tabulate

from claims.ledger.model import LETTERS, Verdict, papers, statements
from claims.ledger.render import counts_table
from claims.ledger.shown import Drawn, Shown, run_check
from support.command import Command, Options, argument, beginning, option
from support.progress import telling
from support.text import find_name, unknown_name
from support.usage import UsageError

#: Most starts of a schedule that are printed.
_STARTS = 24


def _names(_context: object, _parameter: object, incomplete: str) -> list[CompletionItem]:
    known = beginning(incomplete, [*LETTERS, *statements()])
    return [CompletionItem(name) for name in known]


@click.command(
    "kvopt claims",
    cls=Command,
    fails={2: (OSError,)},
    examples=("", '"J1 Theorem 5.3"', '"C Theorem 4" --plot theorem.svg', "--all"),
    codes="0 shown, and in agreement with the verdict; 1 not in agreement; 2 bad usage",
)
@argument("statement", required=False, metavar="[STATEMENT]", shell_complete=_names)
@option("--all", "everything", is_flag=True, help="compute every check again, a line each")
@option("--plot", metavar="FILE", help="draw the schedules that show it, .png or .svg")
@option("--quiet", is_flag=True, help="print nothing of how far it is")
def main(options: Options) -> int:
    """Show what the papers state and what is known of it, and compute it again.

    STATEMENT is a paper (J1, J2, W, C, K, A, F) or a statement of one; without it, the counts.
    """
    if options.everything:
        if options.statement or options.plot:
            raise UsageError("--all: takes no statement and no --plot")
        return _all()
    known = [*LETTERS, *statements()]
    name = find_name(options.statement, known) if options.statement else ""
    if name is None:
        raise UsageError(unknown_name("statement", options.statement, known))
    if name in statements():
        return _one(name, options.plot)
    if options.plot:
        raise UsageError("--plot: expected a statement, found none")
    print(_listed(name) if name else counts_table(linked=False))
    return 0


def _listed(letter: str) -> str:
    rows = [[each.id, each.verdict, each.states] for each in papers()[letter].statement]
    headers, widths = ["statement", "verdict", "states"], [24, None, 60]
    return str(tabulate(rows, headers, tablefmt="simple", maxcolwidths=widths))


def _one(name: str, plot: str | None) -> int:
    """Print a row, compute its check, and draw what it shows."""
    row = statements()[name]
    told = {
        "statement": name,
        "states": row.states,
        "assumes": row.assumes,
        "verdict": row.verdict,
        "shown by": row.counterexample,
        "evidence": row.evidence,
        "errata": ", ".join(row.errata),
        "page": row.page and f"claims/{row.page}.md",
        "tests": " ".join(row.tests),
    }
    for label, text in told.items():
        if text:
            print(f"{label:<10} {text}")
    if not row.check:
        if plot:
            raise UsageError(f"--plot: {name} has no check that draws anything")
        return 0
    shown = run_check(name.split()[0], row.check)
    for line in shown.lines:
        print(f"{'computed':<10} {line}")
    for drawn in shown.drawn:
        print(f"{'schedule':<10} {_schedule(drawn)}")
    if plot:
        _draw(name, shown, plot)
    agreed = agrees(row.verdict, shown)
    print(f"{'check':<10} {'in agreement' if agreed else 'NOT in agreement'} with the verdict")
    return 0 if agreed else 1


def agrees(verdict: Verdict, shown: Shown) -> bool:
    """Return whether what was computed is what the verdict says; open rows say nothing."""
    return shown.holds == (verdict == "confirmed") or verdict not in ("confirmed", "refuted")


def _schedule(drawn: Drawn) -> str:
    starts = drawn.schedule.starts
    shown = " ".join(map(str, starts[:_STARTS])) + (" ..." if len(starts) > _STARTS else "")
    return f"{drawn.schedule.method}: starts {shown}, TEL {drawn.tel}; {drawn.verdict}"


def _draw(name: str, shown: Shown, plot: str) -> None:
    from schedules.picture import pair_picture, picture_of, save_picture  # loads matplotlib

    if not shown.drawn:
        raise UsageError(f"--plot: the check of {name} shows no schedule")
    first, *others = shown.drawn
    same = [each for each in others if each.instance == first.instance]
    figure = (
        pair_picture(first.instance, first.schedule, same[0].schedule)
        if same
        else picture_of(first.instance, first.schedule)
    )
    try:
        save_picture(figure, Path(plot))
    except ValueError as error:
        raise UsageError(f"--plot: {error}") from None


def _all() -> int:
    """Compute every check; print the verdict and whether they agree."""
    checks = {name: row for name, row in statements().items() if row.check}
    wrong = 0
    for name, row in telling(checks.items(), "checks"):
        began = time.perf_counter()
        agreed = agrees(row.verdict, run_check(name.split()[0], row.check))
        wrong += not agreed
        word = "in agreement" if agreed else "NOT in agreement"
        print(f"{name:<40} {row.verdict:<16} {word:<16} {time.perf_counter() - began:6.2f} s")
    print(f"{len(checks)} checks, {wrong} not in agreement with the verdict")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
