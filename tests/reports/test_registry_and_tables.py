"""Table and registry say the same of an instance, whatever runs they are given."""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from instances import Instance
from instances.time_unit import ROUNDS
from kvopt.best_known import known_values, read_registry, report_values
from kvopt.best_known.claims import collect, runs_by_instance
from kvopt.best_known.library_and_ladder import LibraryInstance
from kvopt.best_known.proved_entry import ContradictionError, ProvedEntry, merge
from kvopt.best_known.registry_entry import LADDER_FILE
from kvopt.best_known.registry_verification import write_all
from kvopt.methods.engine_table import proofs
from kvopt.runs.task import FinishedRun
from kvopt.store import Store
from kvopt.store.proved_bounds import judge_rows
from reports.best_references import collect_statements, find_references
from reports.nightly.__main__ import FOLDER, ROWS
from reports.nightly.night_rows import read_rows
from reports.prepared_rows import prepare_rows
from reports.stored_results import Results
from reports.tables.instance_lines import instance_table
from schedules import make_schedule
from schedules.evidence import CONTRADICTED, MISSTATED, VOLUMES
from schedules.schedule import KEEPS_TOKENS_NOTE
from tests.kvopt.best_known.registry import FOUR, PAIR, PRICES
from tests.reports.synthetic import record_of

#: Starts by TEL, and what nobody may do who forgets tokens; the volume bound.
STARTS = {
    "four": {12: [0, 1, 0, 3], 13: [0, 0, 1, 4], 16: [0, 1, 2, 5]},
    "pair": {3: [0, 1], 5: [0, 3]},
}
KEPT = {"four": [0, 0, 0, 0], "pair": [0, 0]}
BOUNDED = {"four": 10, "pair": 3}
CASES = {
    (each.name, stated): replace(
        each, known_optimum=stated, known_optimum_reason="so built" if stated else None
    )
    for each, optimum in ((FOUR, 12), (PAIR, 3))
    for stated in (None, optimum)
}
METHODS = ["highs", "highs:ilp", "highs:ilp(groups=yes)", "highs:ilp-xy", "cpsat", "cpsat:cpsat"]
METHODS += ["search", "auto", "bound:bound-lp", "file:mine.py"]
POLICIES = ["svf", "mc-sf", "a-min"]
_FEW = settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate])


@dataclass(frozen=True)
class Run:
    """A run as it is drawn; ``kept`` for one whose TEL is below OPT by kept tokens."""

    method: str
    tel: int | None
    bound: int | None
    source: str
    status: str
    detail: str
    kept: bool
    certificate: bool


@st.composite
def runs(draw: st.DrawFn, name: str, most: int, certificates: bool) -> list[Run]:
    """Return runs on an instance; bounds on words may be wrong, those from volumes are not."""
    drawn = []
    for _ in range(draw(st.integers(0, most))):
        method = draw(st.sampled_from([*POLICIES, *METHODS, *METHODS, "vllm-v1"]))
        kept = method == "vllm-v1"
        tel = draw(st.sampled_from([None, *STARTS[name], min(STARTS[name])]))
        own = proofs().get(method.partition(":")[0], "prices")
        others = [] if method in POLICIES or kept else [own, own, own, "prices"]
        source = draw(st.sampled_from([VOLUMES, *others]))
        near = [*STARTS[name], BOUNDED[name], BOUNDED[name] + 1]
        bound = BOUNDED[name] if source == VOLUMES else draw(st.sampled_from([None, *near, tel]))
        status = draw(st.sampled_from(["", "", "", "error", "refused"]))
        detail = draw(st.sampled_from(["", f"{MISSTATED}9, is wrong", f"{CONTRADICTED}9 > 8"]))
        if not status:
            status = "optimal" if tel == bound and tel is not None and not kept else "feasible"
            detail = ""
        if kept:
            detail = f"{KEEPS_TOKENS_NOTE}; {detail}".rstrip("; ")
        proved = certificates and name == "four" and bound is not None and draw(st.booleans())
        drawn.append(Run(method, tel, bound, source, status, detail, kept, proved))
    return drawn


def _finished(instance: Instance, run: Run, number: int) -> FinishedRun:
    schedule = None
    if run.tel is not None:
        starts = KEPT[instance.name] if run.kept else STARTS[instance.name][run.tel]
        more: dict[str, Any] = {}
        if run.kept:
            others = len(instance) - 1
            more["attempts"] = [*[[]] * others, [(0, 1)]]
            more["kept"] = [*[[0]] * others, [0, 1]]
        schedule = make_schedule(instance, starts, run.method, **more)
        assert run.kept or schedule.tel == run.tel
    record = record_of(
        instance,
        key=f"{number:064}",
        method=run.method,
        status=run.status,
        detail=run.detail,
        tel=None if schedule is None else schedule.tel,
        lower_bound=run.bound,
        found_by=run.method,
        bound_source=run.source,
        finished_utc=f"2026-11-{1 + number:02}T01:02:03+00:00",
    )
    return FinishedRun(record, schedule, PRICES if run.certificate else None)


def _stored(
    folder: Path,
    instance: Instance,
    drawn: Sequence[Run],
    old: ProvedEntry | None = None,
    first: int = 0,
) -> tuple[pd.DataFrame, ProvedEntry | None]:
    """Return the runs as a store's rows, and what the registry makes of them."""
    store = Store(folder / f"runs{first}.sqlite")
    store.put(*(_finished(instance, run, first + k) for k, run in enumerate(drawn)))
    try:
        claims = collect(instance, runs_by_instance(store).get(instance.sha256, []), store)
        return judge_rows(store.rows(), store), merge(instance, "x.json", old, claims)
    finally:
        store.close()


def _told(folder: Path, instance: Instance, merged: ProvedEntry) -> dict[str, dict[str, Any]]:
    """Return what reports are told of the registry, by way of its files."""
    library = {instance.sha256: LibraryInstance("x.json", instance)}
    (folder / "registry").mkdir(exist_ok=True)
    write_all([merged], library, folder / "registry")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_values, "library_by_hash", lambda: library)
        return known_values(folder / "registry")


def _line(rows: pd.DataFrame, told: dict[str, dict[str, Any]] | None = None) -> pd.Series:
    return Results(rows, told or {}).reference.iloc[0]


def _assert_same(line: pd.Series, merged: ProvedEntry) -> None:
    entry = merged.entry
    assert (line["upper"], line["lower"]) == (entry.upper.value, entry.lower.value)
    assert (line["standing"] == "opt", line["reason"]) == (entry.opt, entry.reason)


def _contradicted(path: Path, told: dict[str, dict[str, Any]]) -> None:
    """Assert that the table is as loud as the registry, which has refused the same."""
    with closing(Store(path, readonly=True)) as store:
        rows = judge_rows(store.rows(), store)
    line = _line(rows, told)
    assert line["standing"] == "contradiction"
    assert pd.isna(line["opt"])
    assert Results(rows, told).contradictions


@pytest.mark.slow("walks")
@_FEW
@given(st.data(), st.sampled_from(sorted(CASES, key=str)))
def test_table_and_registry_agree(data: st.DataObject, case: tuple[str, int | None]) -> None:
    """The same runs: equal bounds, standing and reason, and both or neither find them absurd."""
    instance = CASES[case]
    drawn = data.draw(runs(instance.name, 6, certificates=True))
    assume(drawn)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            rows, merged = _stored(folder, instance, drawn)
        except ContradictionError:
            built = {instance.sha256: {"construction": instance.known_optimum}}
            _contradicted(folder / "runs0.sqlite", built)
            return
        if merged is None:
            assert pd.isna(_line(rows)["upper"])
            return
        told = _told(folder, instance, merged)
        assert Results(rows, told or {}).contradictions == ()
        _assert_same(_line(rows, told), merged)
        # Without the registry a table knows no certificates and no construction: never more.
        alone = _line(rows)
        assert merged.entry.opt or alone["standing"] != "opt"
        assert alone["upper"] == merged.entry.upper.value
        assert pd.isna(alone["lower"]) or alone["lower"] <= merged.entry.lower.value


@pytest.mark.slow("walks")
@_FEW
@given(st.data(), st.sampled_from(sorted(CASES, key=str)))
def test_new_runs_beside_a_registry(data: st.DataObject, case: tuple[str, int | None]) -> None:
    """A table of new runs says what the registry will say once these are merged into it."""
    instance = CASES[case]
    before = data.draw(runs(instance.name, 4, certificates=True))
    after = data.draw(runs(instance.name, 4, certificates=False))
    assume(after)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            _, old = _stored(folder, instance, before)
        except ContradictionError:
            return
        assume(old is not None)
        assert old is not None
        told = _told(folder, instance, old)
        try:
            rows, merged = _stored(folder, instance, after, old, first=10)
        except ContradictionError:
            _contradicted(folder / "runs10.sqlite", told)
            return
        assert merged is not None
        assert Results(rows, told or {}).contradictions == ()
        _assert_same(_line(rows, told), merged)


@pytest.fixture(scope="module")
def night() -> pd.DataFrame:
    """What the tables of the committed night say of each instance, with the registry's help."""
    rows = prepare_rows(read_rows(FOLDER / ROWS).assign(key=""))
    reference = find_references(rows, collect_statements(rows, known_values()))
    return instance_table(reference, rows, ROUNDS).frame.set_index("instance")


@pytest.mark.parametrize("name", ["planted_100", "three_partition_yes_m20"])
def test_what_has_one_argument_is_not_called_known(night: pd.DataFrame, name: str) -> None:
    """The construction counts what fits together, as the area bound does; no code is common."""
    assert night.loc[name, "standing"] == "one argument"
    assert night.loc[name, "shown"] == "one argument only"
    assert night.loc[name, ["upper", "lower", "opt"]].nunique() == 1


def test_the_committed_night_says_what_the_registry_says(night: pd.DataFrame) -> None:
    """Of every instance of the library: known where it says opt, with its bounds and its reason."""
    registry = read_registry()
    assert registry is not None
    entries = {entry.sha256: entry for entry in registry.instances}
    shared = [line for _, line in night.iterrows() if line["sha"] in entries]
    assert len(shared) > 100
    for line in shared:
        entry = entries[line["sha"]]
        # A run of the night may be one more proof; only the library's are merged each time.
        if entry.file == LADDER_FILE:
            assert line["shown"] == "known" or not entry.opt, line
        else:
            assert (line["shown"] == "known") == entry.opt, line
            assert line["reason"].startswith(entry.reason), line
        assert (line["upper"], line["lower"]) == (entry.upper.value, entry.lower.value)
