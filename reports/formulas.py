"""The formulas of the reports; their sources stand in ``reports/METHOD.md``.

A trace is a step function.  Before the first incumbent the gap is 1.  After a run's end its last
value holds until its time limit, so runs that end early and late are integrated over the same T.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

#: Shift of times, seconds: runs of an instant then do not decide the mean.  Mittelmann shifts by
#: 10 s under limits of hours; the limits here are of seconds and minutes.
SHIFT_SECONDS = 1.0


def ratio_interval(values: pd.Series, lowers: pd.Series, uppers: pd.Series) -> pd.DataFrame:
    """Return the interval [value / UB, value / LB] that holds value / OPT, as columns low, high.

    The lower end is missing without an upper bound, the upper end without a positive lower bound.
    """
    value, lower, upper = (each.astype("Float64") for each in (values, lowers, uppers))
    ends = {"low": value / upper.where(upper > 0), "high": value / lower.where(lower > 0)}
    return pd.DataFrame(ends)


def shifted_geometric_mean(values: pd.Series, shift: float = SHIFT_SECONDS) -> float:
    """Return exp(mean(log(value + shift))) - shift; NaN where there is no value."""
    return float(np.exp(np.log(values.dropna().astype(float) + shift).mean()) - shift)


def counted_seconds(seconds: pd.Series, solved: pd.Series, time_limits: pd.Series) -> pd.Series:
    """Return the seconds of solved runs, and of all others their time limit, however they ended.

    So a run that crashes at once counts as one that has used all its time; a solved run never
    counts with more than its limit.
    """
    limits = time_limits.astype(float)
    return seconds.astype(float).clip(upper=limits).where(solved.astype(bool), limits)


def performance_ratios(costs: pd.DataFrame) -> pd.DataFrame:
    """Return cost / best cost of the instance, infinite for failures (Dolan & Moré's r_M).

    A row is an instance, a column a method; missing costs are failures. Instances on which all
    failed stay in, infinite for all, as the paper has it.
    """
    costs = costs.astype(float)
    return costs.div(costs.min(axis=1), axis=0).fillna(np.inf)


def profile(ratios: pd.DataFrame, taus: Sequence[float]) -> pd.DataFrame:
    """Return ρ(τ), the share of instances with a ratio of at most τ: rows τ, columns methods."""
    # A ratio is a rounded quotient: 1.1 may be computed as slightly more.
    within = {tau: ratios.le(tau * (1 + 1e-12)).sum() / max(len(ratios), 1) for tau in taus}
    return pd.DataFrame(within, ratios.columns).T.rename_axis("tau")


def primal_steps(incumbents: pd.DataFrame, references: pd.Series) -> pd.DataFrame:
    """Return when the primal gap of each run changes, as columns run, seconds, gap.

    The gap is |x - ref| / max(x, ref), Berthold's for positive values. Incumbents have the columns
    run, seconds, value (rounds); references are OPT or the best known TEL by run, and runs without
    one are left out.
    """
    steps = incumbents.sort_values(["run", "seconds", "value"], kind="stable")
    # Only an improvement is an incumbent; a trace may list all that was found.
    best = steps.groupby("run")["value"].cummin()
    reference = steps["run"].map(references).astype(float)
    value = np.abs(best - reference) / np.maximum(best, reference)
    return steps.assign(gap=value).dropna(subset="gap")[["run", "seconds", "gap"]]


def primal_dual_steps(incumbents: pd.DataFrame, bounds: pd.DataFrame) -> pd.DataFrame:
    """Return when (UB - LB) / UB of a run's values changes, as columns run, seconds, gap.

    The gap is 1 while either is missing.
    """
    steps = pd.concat(
        [incumbents.rename(columns={"value": "upper"}), bounds.rename(columns={"value": "lower"})],
        ignore_index=True,
    ).sort_values(["run", "seconds"], kind="stable")
    steps["upper"] = steps.groupby("run")["upper"].cummin()
    steps["lower"] = steps.groupby("run")["lower"].cummax()
    filled = steps.groupby("run")[["upper", "lower"]].ffill()
    value = ((filled["upper"] - filled["lower"]) / filled["upper"]).fillna(1.0).clip(0.0, 1.0)
    return steps.assign(gap=value)[["run", "seconds", "gap"]]


def integrate(steps: pd.DataFrame, horizons: pd.Series) -> pd.Series:
    """Return the integral of each run's gap from 0 to its horizon, in seconds, by run.

    Steps are sorted by run and time; a run without steps has gap 1 throughout.
    """
    known = steps[steps["run"].isin(horizons.index)]
    run = known["run"].to_numpy()
    end = known["run"].map(horizons).to_numpy(dtype=float)
    begin = np.clip(known["seconds"].to_numpy(dtype=float), 0.0, end)
    changes, size = run[1:] != run[:-1], len(run)
    until = np.where(np.append(changes, True)[:size], end, np.append(begin[1:], 0.0)[:size])
    first = np.append(True, changes)[:size]
    # The first step ends the time in which the gap is 1.
    area = known["gap"].to_numpy(dtype=float) * (until - begin) + np.where(first, begin, 0.0)
    areas = pd.Series(area, index=known["run"]).groupby(level=0).sum()
    return areas.reindex(horizons.index).fillna(horizons.astype(float))
