"""Keeps the ratios of the benchmarks and draws them over time: ``python -m reports.benchmarks``.

``--add FILE`` takes what ``pytest tests/benchmarks --benchmark-enable --benchmark-only
--benchmark-json=FILE`` wrote into ``ratios.csv``; without it page and picture are built anew from
there.  Only ratios within one run are kept (labels with a "/"): seconds of different machines say
nothing beside each other.
"""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import click
import matplotlib
import pandas as pd
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from instances.checkout import require_checkout
from instances.command import CHECK_OPTION, Command, Options, option
from instances.jsonfile import write_bytes, write_text
from instances.usage import UsageError

FOLDER = Path(__file__).parent
ROWS, PAGE, PICTURE = "ratios.csv", "README.md", "ratios.svg"
COLUMNS = ("finished_utc", "git_commit", "python", "cores", "benchmark", "ratio", "value")
#: One benchmark of one night.
_KEY = ["finished_utc", "benchmark", "ratio"]
_PROGRAM = "python -m reports.benchmarks"
_INTRODUCTION = """\
# Benchmarks, night after night

Each ratio compares two measurements of the same run on the same machine, as its label says; so
nights on different machines can be compared.  The rows are in [`ratios.csv`](ratios.csv), added to
by

```
.venv/bin/pytest tests/benchmarks --benchmark-enable --benchmark-only --benchmark-json=bench.json
.venv/bin/python -m reports.benchmarks --add bench.json
```

*Change* is the last value over the median of the nights before.

"""


class MeasuredError(ValueError):
    """A file holds no benchmarks; the message is one line."""


def ratios_of(document: Any, where: str) -> pd.DataFrame:
    """Return the ratios that pytest-benchmark's JSON holds, columns :data:`COLUMNS`.

    Raises
    ------
    MeasuredError
        If it is not of that form, or holds no ratio.
    """
    rows = []
    try:
        machine, commit = document["machine_info"], document["commit_info"]
        finished = document["datetime"][:19]
        for benchmark in document["benchmarks"]:
            for label, value in benchmark["extra_info"].items():
                if "/" in label and isinstance(value, int | float) and 0 < value < math.inf:
                    name = benchmark["fullname"].rpartition("/")[2].removeprefix("test_bench_")
                    row = (finished, str(commit["id"])[:9], machine["python_version"])
                    rows.append((*row, machine["cpu"].get("count"), name, label, float(value)))
    except (AttributeError, KeyError, TypeError) as error:
        kind = type(error).__name__
        raise MeasuredError(f"{where}: no benchmarks of pytest ({kind}: {error})") from None
    if not rows:
        raise MeasuredError(f"{where}: no benchmark in it has a ratio")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def together(rows: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with those added, in order of time; what is there already comes once."""
    whole = pd.concat([rows, added], ignore_index=True) if len(rows) else added
    return whole.drop_duplicates(_KEY, keep="last").sort_values(_KEY, ignore_index=True)


def page(rows: pd.DataFrame) -> str:
    """Return the page's text."""
    lines = []
    for (benchmark, ratio), nights in rows.groupby(["benchmark", "ratio"]):
        values = nights["value"].tolist()
        before = float(pd.Series(values[:-1]).median()) if len(values) > 1 else math.nan
        known = not math.isnan(before)
        lines.append(
            {
                "benchmark": f"`{benchmark}`",
                "ratio": ratio,
                "nights": len(values),
                "last": f"{values[-1]:.4g}",
                "median before": f"{before:.4g}" if known else "",
                "change": f"{values[-1] / before:.2f}" if known else "",
            }
        )
    table = pd.DataFrame(lines).to_markdown(index=False)
    return f"{_INTRODUCTION}![Ratios over time]({PICTURE})\n\n{table}\n"


def picture(rows: pd.DataFrame) -> bytes:
    """Return a figure as SVG: a panel a file of benchmarks, each ratio over its own median."""
    told = rows.assign(when=pd.to_datetime(rows["finished_utc"]))
    of_all = told.groupby(["benchmark", "ratio"])["value"]
    told["relative"] = told["value"] / of_all.transform("median")
    told["file"] = told["benchmark"].str.partition(".py::")[0]
    files = sorted(told["file"].unique())
    with matplotlib.rc_context({"svg.hashsalt": "kvopt", "svg.fonttype": "path"}):
        sns.set_theme(style="whitegrid")
        height = 1.9 * math.ceil(len(files) / 3) + 0.6
        figure = Figure(figsize=(10, height), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(
            math.ceil(len(files) / 3), 3, sharex=True, sharey=True, squeeze=False
        ).ravel()
        for axes, name in zip(panels, files, strict=False):
            for _, line in told[told["file"] == name].groupby(["benchmark", "ratio"]):
                axes.plot(line["when"], line["relative"], marker="o", ms=3, lw=1, alpha=0.8)
            axes.set_title(name, loc="left", fontsize=10)
            axes.axhline(1, color="0.4", lw=0.8)
        for axes in panels[len(files) :]:
            axes.remove()
        locator = AutoDateLocator(minticks=2, maxticks=4)
        panels[0].set_yscale("log", base=2)
        panels[0].yaxis.set_major_formatter("{x:g}")
        panels[0].xaxis.set_major_locator(locator)
        panels[0].xaxis.set_major_formatter(ConciseDateFormatter(locator))
        figure.supylabel("ratio / its median over the nights", fontsize=10)
        content = io.BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None}, facecolor="white")
        return content.getvalue()


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: (MeasuredError, OSError)},
    examples=("--check", "--add measured.json"),
    codes="0 done; 1 --check found a stale page; 2 bad usage or input",
)
@option("--add", type=Path, metavar="FILE", help="JSON of pytest-benchmark")
@option("--folder", type=Path, metavar="DIR", default=FOLDER, help="(default: reports/benchmarks)")
@CHECK_OPTION
def main(options: Options) -> int:
    """Keep the ratios of the benchmarks, and draw them."""
    if options.check and options.add:
        raise UsageError("expected --add FILE or --check")
    if not options.check and options.folder == FOLDER:
        require_checkout("--folder DIR names another folder")
    return _run(options.folder, options.add, check=options.check)


def _run(folder: Path, measured: Path | None, *, check: bool) -> int:
    place = folder / ROWS
    rows = pd.DataFrame(columns=list(COLUMNS))
    if place.exists() or measured is None:
        rows = pd.read_csv(place, dtype={"git_commit": str, "python": str})
        if list(rows.columns) != list(COLUMNS):
            raise MeasuredError(f"{place}: expected the columns {', '.join(COLUMNS)}")
    if measured is not None:
        try:
            document = json.loads(measured.read_text(encoding="utf-8"))
        except ValueError as error:
            raise MeasuredError(f"{measured}: no JSON ({error})") from None
        rows = together(rows, ratios_of(document, str(measured)))
    if rows.empty:
        raise MeasuredError(f"{place}: no rows")
    if check:
        # Pictures depend on the drawing library's version; the page holds the numbers.
        written = folder / PAGE
        stale = not written.exists() or written.read_text(encoding="utf-8") != page(rows)
        print(f"{written} is stale" if stale else f"{PAGE} is what {ROWS} gives")
        return int(stale)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(place, rows.to_csv(index=False, lineterminator="\n"))
    write_text(folder / PAGE, page(rows))
    write_bytes(folder / PICTURE, picture(rows))
    print(f"{len(rows)} ratios of {rows['finished_utc'].nunique()} nights")
    return 0


if __name__ == "__main__":
    sys.exit(main())
