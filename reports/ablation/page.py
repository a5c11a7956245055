"""Builds the ablation page from the rows of the suite ``ablation``."""

import re
import sys
from pathlib import Path

import click
import pandas as pd

from formulations.formulation_registry import RELAXED
from kvopt.store.row_files import ExportError
from kvopt.store.row_files import read_rows as stored_rows
from kvopt.suites import read_suite
from kvopt.suites.suite import SWITCHES
from reports.formulas import shifted_geometric_mean
from reports.freshness import origin_text, stale_rows, to_be_stated
from reports.markdown import page_text, pipe_table, table_text, template
from reports.table import Column, Table
from support.click_command import CHECK_OPTION, Command, CommandOptions
from support.generated_files import regenerate

FOLDER = Path(__file__).parent
ROWS = FOLDER / "rows.csv"
PAGE = FOLDER / "ABLATION.md"
#: Measurements of removed code.
TRIED = FOLDER / "tried.csv"
_PROGRAM = "python -m reports.ablation.page"
_SECTION_OF_SWITCHES = SWITCHES.replace(" ", "-")
#: The key of one run, with its method.
_RUN = ["section", "instance_sha256", "time_limit", "threads"]
#: The end of a method that solves only the LP relaxation of an integer program.
_RELAXED = re.compile(rf"[(,]{RELAXED.name}=yes\)$")

_BOUND = "as a share of the TEL of the best schedule that any run found; 100 is a proof."
_COUNTED = "shifted geometric mean, shift 1 s; a run without a proof counts with its limit."
_FACTOR = (
    "geometric mean of the value with the option switched over the value in the first line; above "
    "1: the switched option costs seconds. Runs ended without a proof: ≥ with the option "
    "switched, ≤ in the first line, ~ in both."
)
_LP = (
    "of an integer program: its relaxation, solved in a separate run; of a search: the first bound "
    "of its Lagrangian multipliers."
)
#: The footnotes of columns, by their titles.
_NOTES = {
    "bound, % of best TEL (mean)": _BOUND,
    "seconds to proof (shifted mean)": _COUNTED,
    "seconds (shifted mean)": "wall clock, imports and model building included; shift 1 s.",
    "seconds, factor": _FACTOR,
    "nodes, factor": "over the instances that both proved.",
    "LP bound, % of best TEL (mean)": _LP,
}


def read_rows(location: Path) -> pd.DataFrame:
    """Return the suite's rows in its order, of a repeated run the last, with bounds as shares (%).

    Added are group, formulation, proved (1 or 0), peak_memory_mb, counted_seconds, bound_share and
    lp_share, of the best TEL. Runs that only solved the relaxation of an integer program are left
    out; their bound is in the row of the same program.

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
    pairs = pd.Series(list(zip(rows["section"], rows["method"], strict=True)), index=rows.index)
    rows = rows.assign(place=pairs.map(places))[pairs.isin(list(places))]
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
    sizes = rows.groupby("section")["n"]
    ends = sizes.transform(lambda n: "..".join(dict.fromkeys([str(n.min()), str(n.max())])))
    names = rows["section"].str.replace(r"-\d+$", "", regex=True)
    rows["group"] = names.str.replace(_SECTION_OF_SWITCHES, SWITCHES) + ", n = " + ends
    return rows.reset_index(drop=True)


def _with_relaxations(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without relaxations of programs that are there and get their LP bound."""
    relaxed = rows["method"].str.contains(_RELAXED)
    # The method without the option that solves its relaxation only.
    program = rows["method"].str.replace(_RELAXED, lambda it: ")" * (it[0][0] == ","), regex=True)
    keys = pd.MultiIndex.from_frame(rows[_RUN].assign(program=program))
    found = pd.Series(rows["relaxation"].to_numpy(), index=keys)[relaxed.to_numpy()]
    by_mip = rows["method"].str.startswith("highs:")
    stated = rows["relaxation"].fillna(pd.Series(found.reindex(keys).to_numpy(), index=rows.index))
    rows = rows.assign(lp_bound=stated.where(by_mip, rows["root_bound"]))
    return rows[~(relaxed & keys.isin(keys[~relaxed]))]


def page(rows: pd.DataFrame, origin: str) -> str:
    """Return the page as Markdown, with the origin of its rows at the end."""
    parts = []
    switched = rows["group"].str.startswith(SWITCHES)
    for group, in_group in rows[~switched].groupby("group", sort=False):
        proofs = str(group).startswith("proofs")
        parts.append(f"## {str(group).capitalize()}\n")
        parts.append(_table([_line(name, runs, proofs) for name, runs in _methods(in_group)]))
    if switched.any():
        parts.append(template("ablation_switches"))
        for group, in_group in rows[switched].groupby("group", sort=False):
            parts += [f"### {str(group).capitalize()}\n", _table(_switch_lines(in_group))]
    left_out = pd.read_csv(TRIED, dtype=str, keep_default_na=False)
    rest = pipe_table(list(map(str, left_out)), left_out.to_numpy().tolist())
    parts += [template("ablation_tried"), rest, template("ablation_method"), origin]
    return page_text("Ablation: the gain of each strengthening", parts)


def _methods(in_group: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the formulations of a group with their runs, in the order of the rows."""
    return [(str(name), runs) for name, runs in in_group.groupby("formulation", sort=False)]


def _line(name: str, runs: pd.DataFrame, proofs: bool) -> dict[str, object]:
    line: dict[str, object] = {
        "formulation": name,
        "runs": len(runs),
        "bound, % of best TEL (mean)": _number(runs["bound_share"], "mean", digits=1),
    }
    if proofs:
        line["proved"] = int(runs["proved"].sum())
        line["seconds to proof (shifted mean)"] = _seconds(runs["counted_seconds"])
    else:
        line["seconds (shifted mean)"] = _seconds(runs["total_seconds"])
    line["entries (median)"] = _number(runs["model_entries"])
    line["nodes (median)"] = _number(runs["nodes"])
    line["memory, MB (max)"] = _number(runs["peak_memory_mb"], "max")
    return line


def _switch_lines(in_group: pd.DataFrame) -> list[dict[str, object]]:
    """Return one line for the formulation as it is and one for each switch, with the factors."""
    (base, as_it_is), *_ = every = _methods(in_group)
    # A relaxation proves nothing: its run is over when the bound stands.
    proves = bool(in_group["proved"].any())
    seconds, lines = "counted_seconds" if proves else "total_seconds", []
    for name, runs in every:
        pairs = runs.merge(as_it_is, on="instance", suffixes=("", "_as_it_is"))
        both = pairs[(pairs["proved"] == 1) & (pairs["proved_as_it_is"] == 1)]
        counted = both[(both["nodes"] > 0) & (both["nodes_as_it_is"] > 0)]
        factors = {
            "seconds, factor": (_sign(pairs) if proves else "") + _factor(pairs, seconds),
            "nodes, factor": _factor(counted, "nodes"),
            "memory, factor": _factor(pairs, "peak_memory_mb"),
        }
        lines.append(
            {"formulation": name, "runs": len(runs)}
            | ({"proved": int(runs["proved"].sum())} if proves else {})
            | {"seconds (shifted mean)": _seconds(runs[seconds])}
            | (dict.fromkeys(factors, "1") if name == base else factors)
            | {
                "LP bound, % of best TEL (mean)": _number(runs["lp_share"], "mean", digits=1),
                "bound, % of best TEL (mean)": _number(runs["bound_share"], "mean", digits=1),
            }
        )
    return lines


def _sign(pairs: pd.DataFrame) -> str:
    """Return the sign of a factor by the runs without a proof, which count with their limit."""
    turned, as_it_is = (0 in pairs[each].values for each in ("proved", "proved_as_it_is"))
    if turned and as_it_is:
        return "~ "
    return "≥ " if turned else "≤ " if as_it_is else ""


def _factor(pairs: pd.DataFrame, column: str) -> str:
    """Return the geometric mean of the ratios of a column over the first line's."""
    if pairs.empty:
        return "–"
    return f"{shifted_geometric_mean(pairs[column] / pairs[f'{column}_as_it_is'], 0):.2f}"


def _seconds(values: pd.Series) -> str:
    return f"{shifted_geometric_mean(values):.2f}"


def _number(values: pd.Series, take: str = "median", digits: int = 0) -> str:
    value = values.dropna().agg(take)
    return "–" if pd.isna(value) else f"{value:,.{digits}f}"


def _table(lines: list[dict[str, object]]) -> str:
    """Return a table whose first column is a name, and the others numbers."""
    name, *rest = lines[0]
    numbers = (Column(key, key, "count", note=_NOTES.get(key, "")) for key in rest)
    shown = (Column(name, name, "name"), *numbers)
    return table_text(Table("", "", "", shown, pd.DataFrame(lines)))


@click.command(
    _PROGRAM,
    cls=Command,
    fails={2: (ExportError,)},
    examples=("", "--check"),
    codes="0 done; 1 --check found a stale page; 2 bad usage or rows",
)
@CHECK_OPTION
def main(options: CommandOptions) -> int:
    """Build the ablation page from its rows."""
    rows = read_rows(ROWS)
    # With the runs of relaxations, which are in the rows of their programs.
    runs = stored_rows(ROWS)
    stale = stale_rows(runs)
    if options.check:
        stale = to_be_stated(_PROGRAM, PAGE, len(runs), stale)
    text = page(rows, origin_text(runs, stale))
    return regenerate(_PROGRAM, {PAGE: text}, [], check=options.check)


if __name__ == "__main__":
    sys.exit(main())
