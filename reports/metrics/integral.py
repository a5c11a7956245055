"""Gaps over time, from the traces: primal integral (Berthold 2013) and primal-dual integral.

A trace is a step function.  Before the first incumbent the gap is 1; after a run's end its last
value holds until its time limit, so runs that end early and late are integrated over the same T.
"""

from __future__ import annotations

import numpy as np
import pandas as pd


def primal_steps(incumbents: pd.DataFrame, references: pd.Series) -> pd.DataFrame:
    """Return when the primal gap of each run changes, as columns run, seconds, gap.

    Parameters
    ----------
    incumbents
        Columns run, seconds, value (rounds), in any order.
    references
        OPT or the best known TEL (rounds) by run; runs without one are left out.

    Notes
    -----
    γ(x) = |x - ref| / max(x, ref), Berthold's primal gap for positive values.
    """
    steps = incumbents.sort_values(["run", "seconds", "value"], kind="stable")
    # Only an improvement is an incumbent; a trace may list what was found, not what was kept.
    best = steps.groupby("run")["value"].cummin()
    reference = steps["run"].map(references).astype(float)
    value = np.abs(best - reference) / np.maximum(best, reference)
    return steps.assign(gap=value).dropna(subset="gap")[["run", "seconds", "gap"]]


def primal_dual_steps(incumbents: pd.DataFrame, bounds: pd.DataFrame) -> pd.DataFrame:
    """Return when the gap between a run's own incumbent and bound changes, as run, seconds, gap.

    Parameters
    ----------
    incumbents, bounds
        Columns run, seconds, value (rounds), in any order.

    Notes
    -----
    (UB - LB) / UB, and 1 while either is missing.
    """
    steps = pd.concat(
        [
            incumbents.rename(columns={"value": "upper"}),
            bounds.rename(columns={"value": "lower"}),
        ],
        ignore_index=True,
    ).sort_values(["run", "seconds"], kind="stable")
    steps["upper"] = steps.groupby("run")["upper"].cummin()
    steps["lower"] = steps.groupby("run")["lower"].cummax()
    filled = steps.groupby("run")[["upper", "lower"]].ffill()
    value = ((filled["upper"] - filled["lower"]) / filled["upper"]).fillna(1.0).clip(0.0, 1.0)
    return steps.assign(gap=value)[["run", "seconds", "gap"]]


def integrate(steps: pd.DataFrame, horizons: pd.Series) -> pd.Series:
    """Return the integral of each run's gap from 0 to its horizon, in seconds, by run.

    Parameters
    ----------
    steps
        Columns run, seconds, gap; sorted by run and time.
    horizons
        T of every run that is integrated (seconds), by run; one without steps has gap 1 throughout.
    """
    known = steps[steps["run"].isin(horizons.index)]
    run = known["run"].to_numpy()
    end = known["run"].map(horizons).to_numpy(dtype=float)
    begin = np.clip(known["seconds"].to_numpy(dtype=float), 0.0, end)
    last = np.append(run[1:] != run[:-1], True) if len(run) else np.zeros(0, dtype=bool)
    until = np.where(last, end, np.append(begin[1:], 0.0)[: len(run)])
    first = np.append(True, run[1:] != run[:-1]) if len(run) else np.zeros(0, dtype=bool)
    # The first step ends the time in which the gap is 1.
    area = known["gap"].to_numpy(dtype=float) * (until - begin) + np.where(first, begin, 0.0)
    areas = pd.Series(area, index=known["run"]).groupby(level=0).sum()
    return areas.reindex(horizons.index).fillna(horizons.astype(float))


def mean_gap_over_time(steps: pd.DataFrame, runs: int, times: np.ndarray) -> np.ndarray:
    """Return the mean gap of ``runs`` runs at each time; one without a step yet counts with 1.

    Parameters
    ----------
    steps
        Columns run, seconds, gap, of one method; sorted by run and time.
    runs
        All runs of the method, those without any step too.
    times
        Seconds, increasing, shape (k,).
    """
    before = steps.groupby("run")["gap"].shift(fill_value=1.0)
    change = (steps["gap"] - before).to_numpy(dtype=float)
    moment = steps["seconds"].to_numpy(dtype=float)
    order = np.argsort(moment, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(change[order])))
    return 1.0 + total[np.searchsorted(moment[order], times, side="right")] / max(runs, 1)
