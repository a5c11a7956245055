"""Command ``python -m papers.worst_cases``: exact worst ratios on small instances."""

import sys
from pathlib import Path

import click

from instances.worst_case_rows import ROWS, format_worst_cases, read_rows
from papers.worst_cases.exhaustive import worst
from papers.worst_cases.ratio_page import figures, page_text
from support.click_command import CHECK_OPTION, QUIET_OPTION, Command, CommandOptions, option
from support.generated_files import regenerate
from support.json_files import write_text
from support.project_root import require_checkout
from support.usage_errors import UsageError

_PROGRAM = "python -m papers.worst_cases"
FOLDER = Path(__file__).parent


def _size(text: str) -> tuple[int, int, int]:
    parts = text.split(",")
    if len(parts) not in (2, 3) or not all(p.isdecimal() and 1 <= int(p) <= 9 for p in parts):
        raise ValueError(f"expected n,M or n,M,LATEST of 1 to 9 each, found {text!r}")
    n, memory, latest = map(int, [*parts, "0"][:3])
    return n, memory, latest


@click.command(_PROGRAM, cls=Command, examples=("--check", "--run 3,5"))
@option(
    "--run",
    "N,M[,LATEST]",
    "run all instances of this size, arriving at 0 or up to round LATEST",
    _size,
)
@CHECK_OPTION
@QUIET_OPTION
def main(options: CommandOptions) -> int:
    """Write the page of the exact worst ratios from the committed rows."""
    if options.run and options.check:
        raise UsageError("--run: not allowed with --check")
    rows = read_rows()
    if options.run:
        require_checkout("--check writes nothing")
        rows = [row for row in rows if row.size != options.run] + worst(*options.run)
        write_text(ROWS, format_worst_cases(rows))
    if not options.check:
        for slug, svg in figures(rows).items():
            write_text(FOLDER / f"{slug}.svg", svg)
    # --check only looks for a figure: SVG depends on the drawing library's version.
    drawn = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")}
    files = {FOLDER / "README.md": page_text(rows)} | drawn
    present = [*FOLDER.glob("*.md"), *FOLDER.glob("*.svg")]
    return regenerate(_PROGRAM, files, present, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
