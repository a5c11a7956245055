"""Instances of one construction at several sizes, recognised by their names."""

from __future__ import annotations

import re

import pandas as pd

#: Families whose instances are built against a policy; late bursts answer a policy's first move.
_TRAP = re.compile(r".*trap.*|late-burst", re.IGNORECASE)
#: Those, and families chosen for what policies make of them.
_ADVERSARIAL = re.compile(rf"{_TRAP.pattern}|worst-.*|example-3-1", re.IGNORECASE)


def with_series(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lines whose instance is one of a series of sizes, with the series' name.

    In the name of an instance, a number that is its M or its n is replaced by that letter
    (``mcsf_trap_256`` is of ``mcsf_trap_M``, ``planted_100`` of ``planted_n``); in a trap's name
    also a last number that is neither.  A series has instances of two sizes or more.
    """
    names = frame[["id", "instance", "family", "n", "memory"]].drop_duplicates("id")
    described = names[["instance", "family", "n", "memory"]].astype(str)
    series = dict(
        zip(names["id"], (_series(*line) for line in described.to_numpy().tolist()), strict=True)
    )
    found = frame.assign(series=frame["id"].map(series)).dropna(subset="series")
    sizes = found.groupby(["family", "series"])["n"].transform("nunique")
    memories = found.groupby(["family", "series"])["memory"].transform("nunique")
    return found[(sizes > 1) | (memories > 1)]


def is_trap(family: str) -> bool:
    """Whether instances of the family are built against a policy."""
    return _TRAP.fullmatch(family) is not None


def is_adversarial(family: str) -> bool:
    """Whether instances of the family were made or chosen to show a policy's weakness."""
    return _ADVERSARIAL.fullmatch(family) is not None


def _series(name: str, family: str, n: str, memory: str) -> str | None:
    tokens = re.split(r"(\d+)", name)
    if memory in tokens:
        return "".join("M" if token == memory else token for token in tokens)
    if n in tokens:
        return "".join("n" if token == n else token for token in tokens)
    if is_trap(family) and re.search(r"\d+$", name):
        return re.sub(r"\d+$", "*", name)
    return None
