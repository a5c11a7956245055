"""The result of one run, as the library and ``solve.py`` show it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from kvopt.methods.method_names import shown_method
from kvopt.runs.serving_imports import bounds_kept_tokens
from kvopt.runs.task import FinishedRun
from kvopt.summary import summary_rows
from schedules import write_schedule
from schedules.gap import gaps
from schedules.schedule import KEEPS_TOKENS
from serving.best_bound import KnownBound, best_bound, bound_of_run, lower_text, share_left
from serving.timed_run import TimedRun
from serving.traces.trace_report import MeasuredLatencies
from support.message_text import summary_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Result(TimedRun):
    """The best schedule and the best bound that a run has found; ``print`` shows the summary.

    ``elapsed``: wall clock of the whole call (seconds).  ``measured``: latencies in the trace.
    ``companion_bounds``: bounds from runs next to this one.  ``others``, ``unrun``: policies that
    ran next to it, and policies for which the time was too short.

    Examples
    --------
    >>> result = kvopt.solve("tiny_handover", "highs")
    >>> result.status, result.tel, result.bound, result.gap
    ('optimal', 9, 9, 0.0)
    >>> result.plot().get_ylabel()
    'KV memory held (tokens)'
    >>> result.save("schedule.json")
    """

    elapsed: float = 0.0
    measured: MeasuredLatencies | None = None
    companion_bounds: tuple[KnownBound, ...] = ()
    others: tuple[FinishedRun, ...] = ()
    unrun: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The method's name in the summary; a custom method states one."""
        return shown_method(self.method, self.record.own_name)

    @cached_property
    def known_bound(self) -> KnownBound | None:
        """The bound with its source: the run's, in seconds the best one that is known."""
        if self.batch_time:
            own = bound_of_run(self.instance, self.record, self.certificate)
            here = [*own, *self.companion_bounds]
            return best_bound(self.instance, self.batch_time, here=here)
        value = self.record.lower_bound
        return None if value is None else KnownBound(value, self.record.bound_source)

    @property
    def bound(self) -> int | None:
        """The integer that no TEL is below (of the TEL's unit); None without one."""
        return None if self.known_bound is None else self.known_bound.value

    @property
    def bound_seconds(self) -> float | None:
        """The bound in seconds; None without one, or for an instance in rounds."""
        return self.in_seconds(self.bound)

    @property
    def gap(self) -> float | None:
        """(TEL − bound) / TEL; None where either is missing or the bound is not about the TEL."""
        if self.tel is None or self.bound is None or not self.bounded:
            return None
        return share_left(self.tel, self.bound)

    @property
    def bounded(self) -> bool:
        """Return whether bounds hold for the schedule, which may keep tokens over an eviction."""
        easier = "" if self.schedule is None else self.schedule.easier
        kept = easier == KEEPS_TOKENS and bounds_kept_tokens(self.instance, self.batch_time)
        return not easier or kept

    @property
    def seconds(self) -> float:
        """Wall clock of the call without compiling; ``record.seconds`` is the method's alone."""
        return max(self.elapsed - self.compiling, 0.0)

    @property
    def trace(self) -> pd.DataFrame:
        """The improvements: columns ``seconds`` (of the method), ``tel``, ``bound`` and ``gap``."""
        import pandas as pd  # half a second

        tels = [(seconds, tel, None) for seconds, tel in self.record.incumbents]
        bounds = [(seconds, None, bound) for seconds, bound in self.record.bounds]
        both = sorted([*tels, *bounds], key=itemgetter(0))
        rows = pd.DataFrame(both, columns=["seconds", "tel", "bound"], dtype=object).ffill()
        typed = rows.astype({"seconds": float, "tel": "Int64", "bound": "Int64"})
        return typed.assign(gap=gaps(typed["tel"], typed["bound"]))

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw memory and requests over time, also to an .svg, .png or .pdf; return the axes."""
        from schedules import schedule_picture  # half a second

        bound = self.bound if self.gap is not None else None
        schedule = replace(self.required_schedule("to draw"), method=self.named, lower_bound=bound)
        figure = schedule_picture.picture_of(self.instance, schedule)
        if path is not None:
            schedule_picture.save_picture(figure, path)
        schedule_picture.show_picture(figure)
        return figure.axes[0]

    def save(self, path: str | Path) -> None:
        """Write the schedule, as ``solve.py --out`` does (``kvopt.schedule/1``)."""
        write_schedule(self.required_schedule("to write"), path)

    def summary(self) -> list[tuple[str, str]]:
        """Return labels and values of the summary, in a fixed order."""
        return summary_rows(self)

    def __str__(self) -> str:
        return summary_text(self.summary())

    def _repr_html_(self) -> str:
        table = tabulate(self.summary(), tablefmt="html", disable_numparse=True)
        return f'<div style="text-align:left;white-space:pre-wrap">{table}</div>'

    def __repr__(self) -> str:
        shown: list[str] = [self.status]
        shown += [f"TEL {self.instance.unit.text(self.tel)}"] if self.tel is not None else []
        if self.bound is not None:
            shown.append(f"lower bound {lower_text(self.bound, self.batch_time)}")
        shown += [f"gap {100 * self.gap:.3f} %"] if self.gap is not None else []
        shown.append(f"{self.seconds:.2f} s")
        return f"<Result of {self.named} on {self.instance.name}: {', '.join(shown)}>"
