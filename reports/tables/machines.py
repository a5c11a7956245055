"""What the runs were made with: machines, versions, commits."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd

from reports.table import Column, Table

_NOTE = (
    "Seconds of different lines are not comparable. Results with a time limit depend on the "
    "machine and on what else it did."
)


def machines(runs: pd.DataFrame) -> Table:
    """Return the number of runs per machine, Python, versions and commit."""
    keys = ["cpu", "cores", "ram_gb", "platform", "python", "libraries", "git_commit"]
    told = runs.assign(
        platform=runs["platform"].map(_system),
        libraries=_libraries(runs["versions"]),
        git_commit=runs["git_commit"].str[:12],
    )
    frame = told.groupby(keys, dropna=False, sort=True).size().rename("runs").reset_index()
    columns = (
        Column("runs", "runs", "count"),
        Column("cpu", "CPU", "name"),
        Column("cores", "cores", "count"),
        Column("ram_gb", "RAM, GB", "seconds"),
        Column("platform", "platform", "name"),
        Column("python", "Python", "name"),
        Column("libraries", "libraries", "name"),
        Column("git_commit", "commit", "name"),
    )
    return Table("machines", "Machines and versions", _NOTE, columns, frame)


def _system(platform: str) -> str:
    """Leave out the release of the kernel, which tells more of a machine than of its results."""
    parts = re.fullmatch(r"(\w+)-.+-(\w+)-with-(.+)", platform)
    return " ".join(parts.groups()) if parts else platform


def _libraries(versions: pd.Series) -> pd.Series:
    known: dict[str, str] = {}
    texts = []
    for each in versions:
        key = each if isinstance(each, str) else json.dumps(each, sort_keys=True, default=str)
        if key not in known:
            known[key] = _text(each)
        texts.append(known[key])
    return pd.Series(texts, index=versions.index, dtype=object)


def _text(versions: Any) -> str:
    if isinstance(versions, str):
        try:
            versions = json.loads(versions)
        except ValueError:
            return str(versions)
    if not isinstance(versions, dict):
        return ""
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
