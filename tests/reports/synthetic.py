"""Frames of made-up runs with the columns of a store."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from instances import Instance
from kvopt.methods.witness import trusts_solver
from kvopt.runs.row_columns import Record, row_columns
from reports.stored_results import Results
from reports.time_units import Unit


def record(**changed: Any) -> Record:
    """Return a plain row with some fields changed; hash and key follow from the rest."""
    fields: dict[str, Any] = {
        "instance": "a",
        "family": "uniform",
        "n": 4,
        "memory": 16,
        "known_optimum": None,
        "section": "",
        "method": "svf",
        "seed": 0,
        "time_limit": 10.0,
        "memory_limit": None,
        "threads": 1,
        "status": "feasible",
        "ending": "finished",
        "seconds": 1.0,
        "finished_utc": "2026-01-01T00:00:00+00:00",
    } | changed
    if fields.get("lower_bound") is not None and not trusts_solver(fields["method"]):
        # As of every real run: the word of a policy is no bound.
        fields.setdefault("bound_source", "volumes")
    fields.setdefault("instance_sha256", digest(fields["instance"]))
    identity = [fields[k] for k in ("instance_sha256", "method", "seed", "time_limit", "threads")]
    fields.setdefault("key", digest("|".join(map(str, [*identity, fields["finished_utc"]]))))
    return Record(**fields)


def record_of(instance: Instance, **changed: Any) -> Record:
    """Return a row of an instance; all else as :func:`record`, within a minute."""
    told: dict[str, Any] = {"instance": instance.name, "instance_sha256": instance.sha256}
    told |= {"family": "", "n": len(instance), "memory": instance.memory}
    told |= {"known_optimum": instance.known_optimum, "time_limit": 60.0, "seconds": 1.5}
    return record(**told | changed)


def _constructions(records: Iterable[Record]) -> dict[str, dict[str, int | None]]:
    """Return a registry with the known optima by construction; a file's word is no reference."""
    known = [each for each in records if each.known_optimum is not None]
    return {each.instance_sha256: {"construction": each.known_optimum} for each in known}


def frame(*records: Record) -> pd.DataFrame:
    names = [column.name for column in row_columns()]
    table = pd.DataFrame([asdict(each) for each in records], columns=names)
    for column in row_columns():
        if column.dtype == "Int64":
            table[column.name] = pd.array(table[column.name].tolist(), dtype="Int64")
    return table


def results_of(*records: Record) -> Results:
    return Results(frame(*records), _constructions(records))


def measured_of(*records: Record) -> pd.DataFrame:
    """Return the runs that count with what is known of their instances by themselves."""
    return Results(frame(*records), _constructions(records)).runs


def units_of(*records: Record) -> list[Unit]:
    return Results(frame(*records), _constructions(records)).units


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


POLICIES = ("svf", "mc-sf", "fcfs", "a-min", "vllm-v1", "alpha-greedy", "h-sf", "output-peak")
ENGINES = ["highs:ilp-sparse", "highs:ilp(groups=yes)", "cpsat:cpsat", "cpsat:cpsat-strong"]
ENGINES += ["search"]


def many(instances: int, methods: int, points: int = 6, seed: int = 0) -> pd.DataFrame:
    """Return rows of every method on every instance; the last third of the methods are engines."""
    draws = np.random.default_rng(seed)
    names = [f"policy{k:02}" if k >= len(POLICIES) else POLICIES[k] for k in range(methods)]
    engines = [
        ENGINES[k] if k < len(ENGINES) else f"cpsat:cpsat(width={k})" for k in range(methods // 3)
    ]
    names = [*names[: methods - len(engines)], *engines]
    families = ("uniform", "am1", "planted", "three-partition", "mcsf-trap", "tiny")
    size = instances * methods
    which = np.repeat(np.arange(instances), methods)
    method = np.tile(np.array(names, dtype=object), instances)
    engine = np.isin(method, engines)
    opt = draws.integers(1_000, 100_000, instances)[which]
    factor = np.where(engine, 1 + draws.exponential(0.01, size), 1 + draws.exponential(0.2, size))
    tel = np.ceil(opt * np.where(draws.random(size) < 0.2, 1.0, factor)).astype(int)
    lower = np.floor(opt * np.where(draws.random(size) < 0.5, 1.0, 0.95)).astype(int)
    seconds = draws.exponential(3.0, size).clip(0, 10).round(3)
    failed = draws.random(size) < 0.02
    family = np.array(families, dtype=object)[which % len(families)]
    memory = 2 ** (4 + which % 8)
    name = np.array([f"{families[k % 6].replace('-', '_')}_{k}" for k in range(instances)], object)
    hashes = np.array([digest(each) for each in name], dtype=object)
    plain = asdict(record())
    same = ("section", "seed", "time_limit", "threads", "ending", "detail", "found_by")
    table = pd.DataFrame(
        {name: plain[name] for name in (*same, "finished_utc")}
        | dict.fromkeys(("memory_limit", "relaxation", "solver_seconds"), np.nan)
        | {
            "key": [digest(str(k)) for k in range(size)],
            "instance": name[which],
            "instance_sha256": hashes[which],
            "family": family,
            "n": 10 + which % 90,
            "memory": memory,
            "known_optimum": pd.array(opt, dtype="Int64").copy(),
            "method": method,
            "tel": pd.array(tel, dtype="Int64"),
            "lower_bound": pd.array(lower, dtype="Int64"),
            "bound_source": np.where(engine, "", "volumes"),
            "seconds": seconds,
            "start_seconds": 0.3,
            "total_seconds": seconds + 0.3,
            "peak_memory": 200_000_000,
            "nodes": pd.array(draws.integers(0, 10_000, size), dtype="Int64"),
            "solver": np.where(engine, "some 1.0", ""),
            "code": "c",
            "git_commit": "0" * 40,
            "python": "3.11",
            "platform": "Linux-6.1.0-x86_64-with-glibc2.36",
            "cpu": "cpu",
            "cores": 2,
            "ram_gb": 8.0,
        }
    )
    constructed = np.isin(family, ["planted", "three-partition"])
    table.loc[~constructed, "known_optimum"] = pd.NA
    table.loc[~engine, ["lower_bound", "nodes"]] = pd.NA
    table.loc[failed, ["tel", "lower_bound"]] = pd.NA
    closed = table["tel"].eq(table["lower_bound"]).fillna(False)
    table["status"] = np.select([failed, closed], ["crashed", "optimal"], default="feasible")
    running = engine & ~failed
    objects: dict[str, Any] = {
        "versions": [{"numpy": "2"}] * size,
        "command": [["evaluate.py"]] * size,
        "incumbents": _traces(running, seconds, tel, points, falling=True),
        "bounds": _traces(running, seconds, lower, points, falling=False),
    }
    return table.assign(**objects)


def _traces(
    traced: np.ndarray, seconds: np.ndarray, final: np.ndarray, points: int, *, falling: bool
) -> list[list[tuple[float, int]]]:
    sign = 1 if falling else -1
    return [
        [
            (round(end * (k + 1) / points, 3), int(value + sign * (points - 1 - k) * 10))
            for k in range(points)
        ]
        if wanted
        else []
        for wanted, end, value in zip(traced, seconds, final, strict=True)
    ]


def texts_of(svg: str) -> list[str]:
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [each.text or "" for each in found]
