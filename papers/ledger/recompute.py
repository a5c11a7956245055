"""Statements of the ledger as text, and their checks computed again."""

import time
from pathlib import Path

from tabulate import tabulate

from papers.ledger.check_results import CheckedSchedule, CheckResult, run_check
from papers.ledger.statements import StatementVerdict, papers, statements
from support.progress import count_progress
from support.usage_errors import UsageError

#: Most printed starts of a schedule.
_STARTS = 24


def format_statements(letter: str) -> str:
    """Return the statements of a paper as a table."""
    rows = [[each.id, each.verdict, each.states] for each in papers()[letter].statement]
    headers, widths = ["statement", "verdict", "states"], [24, None, 60]
    return str(tabulate(rows, headers, tablefmt="simple", maxcolwidths=widths))


def recompute_statement(name: str, plot: str | None) -> int:
    """Print a statement, compute its check, draw its schedules; return the exit code."""
    row = statements()[name]
    fields = {
        "statement": name,
        "states": row.states,
        "assumes": row.assumes,
        "verdict": row.verdict,
        "shown by": row.counterexample,
        "evidence": row.evidence,
        "errata": ", ".join(row.errata),
        "page": row.page and f"papers/{row.page}.md",
        "tests": " ".join(row.tests),
    }
    for label, text in fields.items():
        if text:
            print(f"{label:<10} {text}")
    if not row.check:
        if plot:
            raise UsageError(f"--plot: {name} has no check")
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


def agrees(verdict: StatementVerdict, shown: CheckResult) -> bool:
    """Return True if the check and the verdict agree, or if the verdict decides nothing."""
    return shown.holds == (verdict == "confirmed") or verdict not in ("confirmed", "refuted")


def _schedule(drawn: CheckedSchedule) -> str:
    starts = drawn.schedule.starts
    shown = " ".join(map(str, starts[:_STARTS])) + (" ..." if len(starts) > _STARTS else "")
    return f"{drawn.schedule.method}: starts {shown}, TEL {drawn.tel}; {drawn.verdict}"


def _draw(name: str, shown: CheckResult, plot: str) -> None:
    from schedules.schedule_picture import (
        pair_picture,
        picture_of,
        save_picture,
    )  # loads matplotlib

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


def recompute_all() -> int:
    """Compute every check; print its verdict and the agreement; return the exit code."""
    checks = {name: row for name, row in statements().items() if row.check}
    wrong = 0
    for name, row in count_progress(checks.items(), "checks"):
        began = time.perf_counter()
        agreed = agrees(row.verdict, run_check(name.split()[0], row.check))
        wrong += not agreed
        word = "in agreement" if agreed else "NOT in agreement"
        print(f"{name:<40} {row.verdict:<16} {word:<16} {time.perf_counter() - began:6.2f} s")
    print(f"{len(checks)} checks, {wrong} not in agreement with the verdict")
    return 1 if wrong else 0
