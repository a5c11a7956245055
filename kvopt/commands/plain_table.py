"""An aligned table of a command: names to the left, figures to the right."""

from collections.abc import Sequence


def plain_table(headers: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return an aligned table, names to the left and figures to the right."""
    from tabulate import tabulate

    sides = ["left" if each in ("method", "policy", "class") else "right" for each in headers]
    # As a row: tabulate makes columns two characters wider than a header.
    look = {"tablefmt": "plain", "disable_numparse": True, "colalign": sides}
    return str(tabulate([headers, *lines], **look))
