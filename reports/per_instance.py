"""One line per instance and method: the seeds of a randomised method become their mean."""

from __future__ import annotations

import pandas as pd


def per_instance(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the seeds of each instance and method.

    The mean over the draws of a randomised policy estimates E[ALG], which its competitive ratio is
    about.  ``tel``, the ratios and the gaps are missing if any seed gave no schedule: a mean over
    those that did would hide the failures.

    Returns
    -------
    pandas.DataFrame
        Columns id, label, family, instance, n, memory, known, standing, engine, preempts, seeds,
        tel, ratio_low, ratio_high, worst_low (the worst seed's lower end), failed and kept (bool:
        in one seed at least, tokens were kept over an eviction).
    """
    groups = runs.groupby(["id", "label"], sort=True)
    first = groups[
        ["family", "instance", "n", "memory", "known", "standing", "engine", "preempts", "opt"]
    ].first()
    found = groups["tel"].count()
    seeds = groups["tel"].size()
    means = groups[["tel", "ratio_low", "ratio_high"]].mean().astype("Float64")
    worst = groups["ratio_low"].max()
    frame = first.join(means.where(found.eq(seeds), axis=0)).assign(
        seeds=seeds, worst_low=worst, kept=groups["kept"].any()
    )
    return frame.assign(failed=frame["tel"].isna()).reset_index()
