"""The one declaration of a row, the record of a run, column by column.

The store's table, the types of frames, CSV and Parquet files and the nightly's columns follow from
:class:`Record`: a new column is a line there, and ``kvopt.runs.run_row`` fills it.
"""

from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from schedules.schedule import Status

T = TypeVar("T")

#: Statuses of a method that has failed; ``--rerun-failed`` runs them again.
FAILED = ("no_solution", "time_limit", "memory_limit", "crashed", "refused", "error")

#: Parts of a row; ``took`` differs by run, ``origin`` by machine.
Part = Literal["asked", "found", "took", "origin"]
Asked = Annotated[T, "asked"]
Found = Annotated[T, "found"]
Took = Annotated[T, "took"]
Origin = Annotated[T, "origin"]
#: Marks a column that is not committed with the rows of a night.
APART = "apart"
#: A further column of rows out of a store: the bound that integers prove.
PROVED = "proved"
#: A serving metric: there is one of every run in seconds with a schedule.
Metric = Annotated[T, "found", APART]


@dataclass(frozen=True)
class RowColumn:
    """A column of a row, by its type and its marks.

    A ``list`` or ``dict`` is JSON where there are only texts and numbers, a ``trace`` a list of
    pairs (seconds, value).  Exported rows may lack a column that is not ``needed``, and have its
    ``default``.  ``texts`` are the allowed ones, empty where any is.
    """

    name: str
    kind: type
    trace: bool
    optional: bool
    part: Part
    apart: bool
    needed: bool
    default: Any
    texts: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """Type of the column in a frame."""
        whole = "Int64" if self.optional else "int64"
        return {str: "str", int: whole, float: "float64"}.get(self.kind, "object")


@dataclass(frozen=True)
class Record:
    """One run as a row of the store.

    Values are rounds, with a ``batch_time`` nanoseconds; times seconds from the end of the imports,
    sizes bytes.  ``docs/glossary.md`` has the closed lists of ``status`` and ``ending``.  ``tel``
    is of the best schedule that was checked here.  ``lower_bound`` may be an engine's word
    (``bound_source``); of a custom method integers prove it, and ``claimed_bound`` is the method's
    claim beyond.  ``root_bound`` is the first from prices, ``relaxation`` the LP's value.
    ``solver_seconds`` is the engine's number; ``start_seconds`` and ``total_seconds`` count
    from the start of the process, to the end of its imports and to the row.  ``incumbents`` and
    ``bounds`` are pairs (seconds, value).  ``own_name`` is the name that a custom method gives
    itself, ``told`` the knowledge that it declares, ``called`` its numeric parameters with all
    values.  ``engine_*`` are of an engine next to others.  ``mean_ttft_ms`` to
    ``recomputed_tokens`` are the serving metrics (``serving.metrics.ServingMetrics``).
    """

    key: Annotated[Asked[str], APART]
    instance: Asked[str]
    instance_sha256: Asked[str]
    family: Asked[str]
    n: Asked[int]
    memory: Asked[int]
    known_optimum: Asked[int | None]
    section: Asked[str]
    method: Asked[str]
    seed: Asked[int]
    time_limit: Asked[float]
    memory_limit: Annotated[Asked[float | None], APART]
    threads: Asked[int]
    status: Found[Status]
    ending: Found[str]
    tel: Found[int | None] = None
    lower_bound: Found[int | None] = None
    found_by: Found[str] = ""
    bound_source: Found[str] = ""
    detail: Found[str] = ""
    seconds: Took[float] = 0.0
    solver_seconds: Took[float | None] = None
    start_seconds: Took[float] = 0.0
    total_seconds: Took[float] = 0.0
    peak_memory: Took[int] = 0
    nodes: Took[int | None] = None
    relaxation: Took[float | None] = None
    root_bound: Took[int | None] = None
    model_columns: Took[int | None] = None
    model_rows: Took[int | None] = None
    model_entries: Took[int | None] = None
    solver: Took[str] = ""
    incumbents: Annotated[Took[list[tuple[float, int]]], APART] = field(default_factory=list)
    bounds: Annotated[Took[list[tuple[float, int]]], APART] = field(default_factory=list)
    finished_utc: Took[str] = ""
    output: Annotated[Took[str], APART] = ""
    code: Annotated[Origin[str], APART] = ""
    versions: Annotated[Origin[dict[str, str]], APART] = field(default_factory=dict)
    git_commit: Origin[str] = ""
    python: Origin[str] = ""
    platform: Annotated[Origin[str], APART] = ""
    cpu: Origin[str] = ""
    cores: Origin[int] = 0
    ram_gb: Origin[float] = 0.0
    command: Annotated[Origin[list[str]], APART] = field(default_factory=list)
    batch_time: Annotated[Asked[str], APART] = ""
    claimed_bound: Annotated[Found[int | None], APART] = None
    mean_ttft_ms: Metric[float | None] = None
    p50_ttft_ms: Metric[float | None] = None
    p90_ttft_ms: Metric[float | None] = None
    p99_ttft_ms: Metric[float | None] = None
    mean_tpot_ms: Metric[float | None] = None
    p50_tpot_ms: Metric[float | None] = None
    p90_tpot_ms: Metric[float | None] = None
    p99_tpot_ms: Metric[float | None] = None
    mean_itl_ms: Metric[float | None] = None
    p50_itl_ms: Metric[float | None] = None
    p90_itl_ms: Metric[float | None] = None
    p99_itl_ms: Metric[float | None] = None
    mean_e2el_ms: Metric[float | None] = None
    p50_e2el_ms: Metric[float | None] = None
    p90_e2el_ms: Metric[float | None] = None
    p99_e2el_ms: Metric[float | None] = None
    mean_normalized_ms: Metric[float | None] = None
    mean_delay_ms: Metric[float | None] = None
    duration_s: Metric[float | None] = None
    request_throughput: Metric[float | None] = None
    output_throughput: Metric[float | None] = None
    total_token_throughput: Metric[float | None] = None
    goodput: Metric[float | None] = None
    mean_running: Metric[float | None] = None
    mean_waiting: Metric[float | None] = None
    mean_tokens: Metric[float | None] = None
    peak_waiting: Metric[int | None] = None
    peak_tokens: Metric[int | None] = None
    evictions: Metric[int | None] = None
    recomputed_tokens: Metric[int | None] = None
    own_name: Annotated[Asked[str], APART] = ""
    told: Annotated[Asked[str], APART] = ""
    called: Annotated[Asked[str], APART] = ""
    engine_formulation: Annotated[Found[str], APART] = ""
    engine_tel: Annotated[Found[int | None], APART] = None
    engine_bound: Annotated[Found[int | None], APART] = None


@cache
def row_columns() -> tuple[RowColumn, ...]:
    """Return the columns of a row, in its order."""
    hints = get_type_hints(Record, include_extras=True)
    return tuple(_column(each, hints[each.name]) for each in fields(Record))


def _column(declared: Field[Any], hint: Any) -> RowColumn:
    plain, part, *marks = get_args(hint)
    texts = get_args(plain) if get_origin(plain) is Literal else ()
    types = get_args(plain) if NoneType in get_args(plain) else (plain,)
    (kind,) = (each for each in types if each is not NoneType)
    made = declared.default_factory
    default = declared.default if made is MISSING else made()
    return RowColumn(
        name=declared.name,
        kind=str if texts else get_origin(kind) or kind,
        trace=any(get_origin(each) is tuple for each in get_args(kind)),
        optional=len(types) > 1,
        part=part,
        apart=APART in marks,
        needed=default is MISSING or APART not in marks,
        default=None if default is MISSING else default,
        texts=texts,
    )
