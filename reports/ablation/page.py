"""Builds the ablation page and its figures from the raw rows.

``python -m reports.ablation.page`` writes ``ABLATION.md`` and two pictures beside ``rows.csv``;
``--check`` exits with 1 if the committed page is not what the rows give.
"""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path

import matplotlib
import pandas as pd
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from instances.jsonfile import write_bytes, write_text

FOLDER = Path(__file__).parent
ROWS = FOLDER / "rows.csv"
PAGE = FOLDER / "ABLATION.md"
#: Shift of the geometric mean, seconds, so that runs of an instant do not decide it.
SHIFT = 1.0

_INTRODUCTION = """\
# Ablation: what each strengthening brings

Each row is one run in a process of its own, one after the other on one machine; the raw rows with
their provenance are in [`rows.csv`](rows.csv).  `python -m reports.ablation.measure` runs what is
missing there, `python -m reports.ablation.page` builds this page from it.

A bound is given as a share of the best schedule's TEL that any run of the instance found, in
percent: 100 would be a proof.  Seconds are wall clock, imports and model building included; runs
without a proof count with their limit (30 s).  Means of seconds are shifted geometric means (shift
1 s).  A run on a shared machine tells ratios, not seconds; four or five draws tell a direction, not
a law.  What the project aims at and how far it is: [`TARGETS.md`](TARGETS.md).
"""


def read_rows() -> pd.DataFrame:
    """Return the raw rows with the bound as a share (%) of the best TEL of the instance."""
    rows = pd.read_csv(ROWS)
    best = rows.groupby("instance")["tel"].transform("min")
    rows["bound_share"] = 100 * rows["lower_bound"] / best
    rows["counted_seconds"] = rows["seconds"].where(rows["proved"] == 1, rows["time_limit"])
    return rows


def shifted_mean(values: pd.Series) -> float:
    """Return exp(mean(log(v + shift))) − shift."""
    logs = [math.log(value + SHIFT) for value in values]
    return math.exp(sum(logs) / len(logs)) - SHIFT


def page(rows: pd.DataFrame) -> str:
    """Return the page as Markdown."""
    parts = [_INTRODUCTION]
    for group, in_group in rows.groupby("group", sort=False):
        proofs = str(group).startswith("proofs")
        parts.append(f"## {str(group).capitalize()}\n")
        parts.append(
            "![Seconds to the proof by formulation](proofs.svg)\n"
            if group == "proofs, n = 8"
            else "![Bounds by formulation](bounds.svg)\n"
            if not proofs
            else ""
        )
        table = []
        for name, runs in in_group.groupby("formulation", sort=False):
            line = {
                "formulation": f"`{name}`",
                "runs": len(runs),
                "bound, % of best TEL (mean)": f"{runs['bound_share'].mean():.1f}",
            }
            if proofs:
                line["proved"] = f"{int(runs['proved'].sum())}"
                line["seconds to proof (shifted mean)"] = (
                    f"{shifted_mean(runs['counted_seconds']):.2f}"
                )
            else:
                line["seconds (shifted mean)"] = f"{shifted_mean(runs['seconds']):.2f}"
            line["entries (median)"] = _number(runs["entries"])
            line["nodes (median)"] = _number(runs["nodes"])
            line["memory, MB (max)"] = _number(runs["peak_memory_mb"], largest=True)
            table.append(line)
        parts.append(_markdown(table))
    return "\n".join(part for part in parts if part)


def _number(values: pd.Series, largest: bool = False) -> str:
    known = values.dropna()
    if known.empty:
        return "–"
    return f"{known.max() if largest else known.median():,.0f}"


def _markdown(table: list[dict[str, object]]) -> str:
    header = list(table[0])
    lines = [header, ["---"] * len(header), *([str(v) for v in row.values()] for row in table)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def pictures(rows: pd.DataFrame) -> dict[str, bytes]:
    """Return the figures as SVG by file name; the background is white in dark pages too."""
    bounds = rows[rows["group"].str.startswith("bounds")]
    proofs = rows[rows["group"].str.startswith("proofs")]
    return {
        "bounds.svg": _strip(bounds, "bound_share", "bound, % of the best TEL known", log=False),
        "proofs.svg": _strip(
            proofs, "counted_seconds", "seconds to the proof (limit 30)", log=True
        ),
    }


def _strip(rows: pd.DataFrame, column: str, label: str, log: bool) -> bytes:
    with matplotlib.rc_context({"svg.hashsalt": "kvopt", "svg.fonttype": "path"}):
        sns.set_theme(style="whitegrid")
        figure = Figure(
            figsize=(8, 0.42 * rows["formulation"].nunique() + 1.3), layout="constrained"
        )
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        grouped = rows["group"].nunique() > 1
        sns.stripplot(
            data=rows,
            x=column,
            y="formulation",
            hue="group" if grouped else None,
            size=6,
            jitter=0.15,
            alpha=0.8,
            palette="colorblind" if grouped else None,
            ax=axes,
        )
        if log:
            axes.set_xscale("log")
        axes.set_xlabel(label)
        axes.set_ylabel("")
        if grouped:
            axes.legend(title="", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        picture = io.BytesIO()
        figure.savefig(picture, format="svg", metadata={"Date": None}, facecolor="white")
        return picture.getvalue()


def main(arguments: list[str]) -> int:
    """Write the page, or compare it with ``--check``."""
    rows = read_rows()
    text = page(rows)
    if arguments == ["--check"]:
        # Pictures depend on the drawing library's version; the page holds the numbers.
        stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
        print("ABLATION.md is stale" if stale else "ABLATION.md is what rows.csv gives")
        return int(stale)
    write_text(PAGE, text)
    for name, content in pictures(rows).items():
        write_bytes(FOLDER / name, content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
