"""Builds the ablation page and its figures from the rows of the suite ``ablation``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import numpy as np
import pandas as pd
import seaborn as sns

from formulations.registry import RELAXED
from kvopt.store.export import ExportError
from kvopt.store.export import read_rows as stored_rows
from kvopt.suites import read_suite
from kvopt.suites.suite import SWITCHES
from reports.figures.style import drawing
from reports.freshness import stale_rows, to_be_stated, told
from reports.markdown import page_text, pipe_table
from reports.metrics import shifted_geometric_mean
from support.command import CHECK_OPTION, Command, Options
from support.committed import regenerate
from support.jsonfile import write_text

FOLDER = Path(__file__).parent
ROWS = FOLDER / "rows.csv"
PAGE = FOLDER / "ABLATION.md"
#: What was measured once and left out: its code is not in the project any more.
TRIED = FOLDER / "tried.csv"
_PROGRAM = "python -m reports.ablation.page"
_SECTION_OF_SWITCHES = SWITCHES.replace(" ", "-")
#: What one run is told by, beside its method.
_RUN = ["section", "instance_sha256", "time_limit", "threads"]
#: How the text of a method ends that solves the LP relaxation of an integer program only.
_RELAXED = re.compile(rf"[(,]{RELAXED.name}=yes\)$")

_TITLE = "Ablation: what each strengthening brings"
_INTRODUCTION = """\
Each row is one run in a process of its own, one after the other on one machine.  The suite is
[`ablation`](../../kvopt/suites/ablation.toml), where an option that a formulation gains is measured
without a change; the rows are in [`rows.csv`](rows.csv).

```
python evaluate.py ablation --store ablation.sqlite --export reports/ablation/rows.csv
python -m reports.ablation.page
```

A bound is given as a share of the best schedule's TEL that any run of the instance found, in
percent: 100 would be a proof.  The LP bound of an integer program is that of its relaxation,
solved in a run of its own; that of a search is the first bound of its Lagrangian multipliers.
Seconds are wall clock, imports and model building included; runs without a proof count with their
limit.  Means of seconds are shifted geometric means (shift 1 s).  A run on a shared machine shows
ratios, not seconds; a few draws show a direction, not a law.
"""

_SWITCHES_INTRODUCTION = """\
## Each strengthening switched by itself

One option of a formulation is switched, all others stay as in the first line; every row has the
same instances.  A factor is the geometric mean, over the instances, of the value with the option
switched over the value in the first line: seconds above 1 say that the switched option costs time.
A run without a proof counts with its limit.  So a factor is marked ≥ where only runs with the
option switched, ≤ where only runs of the first line, and ~ where both kinds ended without a proof.
Nodes are compared on the instances that both proved.  Instances that take less than a second in
the first line say little, since nearly all of that is the start of a process.
"""

_TRIED_INTRODUCTION = """\
## Tried and left out

What was built, measured and removed.  Single runs on two shared cores in November 2026: a
difference under 0.5 % is noise.  The rows are written by hand, in [`tried.csv`](tried.csv);
[leads](../../docs/leads.md) has the reasons and the open questions.
"""


def read_rows(location: Path) -> pd.DataFrame:
    """Return the suite's rows in its order, of a repeated run the last, with bounds as shares (%).

    Added are group, formulation, proved (1 or 0), peak_memory_mb, counted_seconds, bound_share and
    lp_share, of the best TEL. Runs that only solved the relaxation of an integer program are left
    out; what they found is in the row of the same program.

    Raises ExportError or StoreError if the rows cannot be read.
    """
    rows = stored_rows(location)
    sections = read_suite("ablation").sections
    places = {
        (section.name, method.text): (place, position)
        for place, section in enumerate(sections)
        for position, method in enumerate(section.methods)
    }
    if not rows["section"].isin([section.name for section in sections]).any():
        raise ExportError(f"{location}: expected rows of the suite ablation, found none")
    told = pd.Series(list(zip(rows["section"], rows["method"], strict=True)), index=rows.index)
    rows = rows.assign(place=told.map(places))[told.isin(list(places))]
    rows = rows.sort_values(["place", "instance", "finished_utc"], kind="stable")
    rows = rows.drop_duplicates([*_RUN, "method"], keep="last", ignore_index=True)
    numbers = ["tel", "lower_bound", "root_bound", "nodes", "model_entries", "peak_memory"]
    rows = rows.astype(dict.fromkeys(numbers, float))
    rows["formulation"] = rows["method"].str.partition(":")[2]
    rows["proved"] = rows["status"].eq("optimal").astype(int)
    rows["peak_memory_mb"] = rows["peak_memory"].where(rows["peak_memory"] > 0) / 1e6
    rows["counted_seconds"] = rows["total_seconds"].where(rows["proved"] == 1, rows["time_limit"])
    best = rows.groupby("instance_sha256")["tel"].transform("min")
    rows["bound_share"] = 100 * rows["lower_bound"] / best
    rows = _with_relaxations(rows)
    rows["lp_share"] = 100 * rows["lp_bound"] / best.loc[rows.index]
    rows["group"] = rows["section"].map(_titles(rows))
    return rows.reset_index(drop=True)


def _with_relaxations(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without relaxations of programs beside them, which get their LP bound."""
    relaxed = rows["method"].str.contains(_RELAXED)
    program = rows["method"].map(_program)
    keys = pd.MultiIndex.from_frame(rows[_RUN].assign(program=program))
    found = pd.Series(rows["relaxation"].to_numpy(), index=keys)[relaxed.to_numpy()]
    by_mip = rows["method"].str.startswith("highs:")
    stated = rows["relaxation"].fillna(pd.Series(found.reindex(keys).to_numpy(), index=rows.index))
    rows = rows.assign(lp_bound=stated.where(by_mip, rows["root_bound"]))
    return rows[~(relaxed & keys.isin(keys[~relaxed]))]


def _program(method: str) -> str:
    """Return the method without the option that solves its relaxation only."""
    return _RELAXED.sub(lambda found: ")" if found.group().startswith(",") else "", method)


def _titles(rows: pd.DataFrame) -> dict[str, str]:
    """Return the title of each section: what is compared, and for how many requests."""
    titles = {}
    for section, runs in rows.groupby("section", sort=False):
        least, most = runs["n"].min(), runs["n"].max()
        size = f"{least}" if least == most else f"{least}..{most}"
        what = re.sub(r"-\d+$", "", str(section))
        if what.startswith(_SECTION_OF_SWITCHES):
            what = SWITCHES + what.removeprefix(_SECTION_OF_SWITCHES)
        titles[str(section)] = f"{what}, n = {size}"
    return titles


def page(rows: pd.DataFrame, origin: str) -> str:
    """Return the page as Markdown; ``origin`` says of what its rows are."""
    parts = [origin, _INTRODUCTION]
    switched = rows["group"].str.startswith(SWITCHES)
    for group, in_group in rows[~switched].groupby("group", sort=False):
        proofs = str(group).startswith("proofs")
        parts.append(f"## {str(group).capitalize()}\n")
        if group == "proofs, n = 8":
            parts.append("![Seconds to the proof by formulation](proofs.svg)\n")
        elif not proofs:
            parts.append("![Bounds by formulation](bounds.svg)\n")
        parts.append(_table([_line(name, runs, proofs) for name, runs in _methods(in_group)]))
    if switched.any():
        parts += [_SWITCHES_INTRODUCTION, "![Factor of seconds by switch](switches.svg)\n"]
        for group, in_group in rows[switched].groupby("group", sort=False):
            parts += [f"### {str(group).capitalize()}\n", _table(_switch_lines(in_group))]
    left_out = tried()
    rest = pipe_table(list(left_out[0]), [list(line.values()) for line in left_out])
    return page_text(_TITLE, [*parts, _TRIED_INTRODUCTION, rest])


def tried() -> list[dict[str, object]]:
    """Return what was left out, line by line; "the same" stands for what is in the line above."""
    rows = pd.read_csv(TRIED, dtype=str, keep_default_na=False)
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]


def _methods(in_group: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the formulations of a group with their runs, in the order of the rows."""
    return [(str(name), runs) for name, runs in in_group.groupby("formulation", sort=False)]


def _line(name: str, runs: pd.DataFrame, proofs: bool) -> dict[str, object]:
    line: dict[str, object] = {
        "formulation": f"`{name}`",
        "runs": len(runs),
        "bound, % of best TEL (mean)": _number(runs["bound_share"], "mean", digits=1),
    }
    if proofs:
        line["proved"] = f"{int(runs['proved'].sum())}"
        line["seconds to proof (shifted mean)"] = _seconds(runs["counted_seconds"])
    else:
        line["seconds (shifted mean)"] = _seconds(runs["total_seconds"])
    line["entries (median)"] = _number(runs["model_entries"])
    line["nodes (median)"] = _number(runs["nodes"])
    line["memory, MB (max)"] = _number(runs["peak_memory_mb"], "max")
    return line


def _switch_lines(in_group: pd.DataFrame) -> list[dict[str, object]]:
    """Return one line for the formulation as it is and one for each switch, with the factors."""
    base, seconds, switched = _switched(in_group)
    lines = []
    proves = seconds == "counted_seconds"
    for name, pairs in switched:
        runs = in_group[in_group["formulation"].eq(name)]
        both = pairs[(pairs["proved"] == 1) & (pairs["proved_as_it_is"] == 1)]
        counted = both[(both["nodes"] > 0) & (both["nodes_as_it_is"] > 0)]
        factors = {
            "seconds, factor": _sign(pairs, proves) + _factor(pairs, seconds),
            "nodes, factor": _factor(counted, "nodes"),
            "memory, factor": _factor(pairs, "peak_memory_mb"),
        }
        lines.append(
            {"formulation": f"`{name}`", "runs": len(runs)}
            | ({"proved": f"{int(runs['proved'].sum())}"} if proves else {})
            | {"seconds (shifted mean)": _seconds(runs[seconds])}
            | (dict.fromkeys(factors, "1") if name == base else factors)
            | {
                "LP bound, % of best TEL (mean)": _number(runs["lp_share"], "mean", digits=1),
                "bound, % of best TEL (mean)": _number(runs["bound_share"], "mean", digits=1),
            }
        )
    return lines


def _switched(in_group: pd.DataFrame) -> tuple[str, str, list[tuple[str, pd.DataFrame]]]:
    """Return the first formulation, which seconds count, and all runs beside the first's."""
    (base, as_it_is), *_ = every = _methods(in_group)
    # A relaxation proves nothing: its run is over when the bound stands.
    seconds = "counted_seconds" if in_group["proved"].any() else "total_seconds"
    suffixes = ("", "_as_it_is")
    return (
        base,
        seconds,
        [(name, runs.merge(as_it_is, on="instance", suffixes=suffixes)) for name, runs in every],
    )


def _sign(pairs: pd.DataFrame, proves: bool) -> str:
    """Return what runs without a proof, which count with their limit, make of a factor."""
    if not proves:
        return ""
    turned, as_it_is = (pairs[each].eq(0).any() for each in ("proved", "proved_as_it_is"))
    if turned and as_it_is:
        return "~ "
    return "≥ " if turned else "≤ " if as_it_is else ""


def _factor(pairs: pd.DataFrame, column: str) -> str:
    """Return the geometric mean of the ratios of a column over the one of the same instance."""
    if pairs.empty:
        return "–"
    return f"{shifted_geometric_mean(pairs[column] / pairs[f'{column}_as_it_is'], 0):.2f}"


def _seconds(values: pd.Series) -> str:
    return f"{shifted_geometric_mean(values):.2f}"


def _number(values: pd.Series, take: str = "median", digits: int = 0) -> str:
    value = values.dropna().agg(take)
    return "–" if pd.isna(value) else f"{value:,.{digits}f}"


def _table(table: list[dict[str, object]]) -> str:
    """Return a table whose first column is a name, and the others numbers."""
    header = list(table[0])
    sides = ["left"] + ["right"] * (len(header) - 1)
    return pipe_table(header, [list(row.values()) for row in table], sides)


def pictures(rows: pd.DataFrame) -> dict[str, str]:
    """Return the figures as SVG by file name."""
    drawn = {}
    bounds = rows[rows["group"].str.startswith("bounds")]
    if len(bounds):
        drawn["bounds.svg"] = _strip(bounds, "bound_share", "bound, % of the best TEL known")
    proofs = rows[rows["group"].str.startswith("proofs")]
    if len(proofs):
        limits = " or ".join(f"{limit:g}" for limit in sorted(proofs["time_limit"].unique()))
        label = f"seconds to the proof, or the limit ({limits})"
        drawn["proofs.svg"] = _strip(proofs, "counted_seconds", label, log=True)
    factors = _factors(rows[rows["group"].str.startswith(SWITCHES)])
    if factors:
        label = "seconds with the switch turned / seconds as it is, an instance each"
        drawn["switches.svg"] = _strip(pd.concat(factors), "factor", label, log=True)
    return drawn


def _strip(rows: pd.DataFrame, column: str, label: str, *, log: bool = False) -> str:
    with drawing(8, 0.42 * rows["formulation"].nunique() + 1.3) as made:
        axes = made.figure.subplots()
        grouped = rows["group"].nunique() > 1
        # seaborn draws its jitter from here: the same rows must give the same picture.
        np.random.seed(0)
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
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel=label, ylabel="")
        if grouped:
            axes.legend(title="", loc="upper left", bbox_to_anchor=(1, 1))
    return made.svg


def _factors(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the factor of the seconds of every instance, by group and turned switch."""
    found = []
    for group, in_group in rows.groupby("group", sort=False):
        base, seconds, (_, *turned) = _switched(in_group)
        title = str(group).removeprefix(SWITCHES)
        found += [
            pd.DataFrame(
                {
                    "group": title,
                    "formulation": f"{base.partition('(')[0]}: {turned_options(name, base)}",
                    "factor": pairs[seconds] / pairs[f"{seconds}_as_it_is"],
                }
            )
            for name, pairs in turned
        ]
    return found


def turned_options(name: str, base: str) -> str:
    """Return the options by which a formulation differs from the first line of its group."""
    (own, *given), (first, *there) = (re.split("[(),]", each) for each in (name, base))
    more = [each for each in given if each and each not in there]
    return ",".join(more) if own == first and more else name


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: (ExportError,)},
    examples=("", "--check"),
    codes="0 done; 1 --check found a stale page; 2 bad usage or rows",
)
@CHECK_OPTION
def main(options: Options) -> int:
    """Build the ablation page from its rows."""
    rows = read_rows(ROWS)
    # The runs of relaxations, too, which are in the rows of their programs.
    runs = stored_rows(ROWS)
    stale = stale_rows(runs)
    if options.check:
        stale = to_be_stated(_PROGRAM, PAGE, len(runs), stale)
    code = regenerate(_PROGRAM, {PAGE: page(rows, told(runs, stale))}, [], check=options.check)
    # Pictures depend on the drawing library's version: only the page, with the numbers, is checked.
    for name, content in {} if options.check else pictures(rows).items():
        write_text(FOLDER / name, content)
    return code


if __name__ == "__main__":
    sys.exit(main())
