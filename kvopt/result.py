"""The result of one run, as the library and ``solve.py`` show it."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from instances import Instance
from instances.batch_time import NANOSECONDS, parse_batch_time
from instances.traces.measured import Measured
from kvopt.answer import Answer, answer_on, missing, totals
from kvopt.best_bound import (
    KnownBound,
    best_bound,
    coverage,
    left,
    of_run,
    percent_left,
    told_bound,
)
from kvopt.methods.knowledge import shown_method
from kvopt.registered import registered
from kvopt.runs.batch_time import bounds_kept_tokens
from kvopt.runs.record import Record
from kvopt.runs.task import Finished
from kvopt.waiting import no_request_waits, what_binds
from schedules import Schedule, Status, write_schedule
from schedules.files import parse_schedule
from schedules.gap import gaps
from schedules.model import any_kept
from schedules.real_time.requests import request_frame
from schedules.real_time.serving import Serving, goodput, serving, serving_lines
from schedules.real_time.slo import Slo, read_slo
from schedules.real_time.timeline import Timeline, timeline
from support.text import summary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The best schedule and the best bound that a run has found, and how it went.

    ``print(result)`` shows the summary that ``solve.py`` ends with.

    Attributes
    ----------
    instance
        What was to be scheduled.
    finished
        The row of the run, with the documents that prove it.
    elapsed
        Wall clock of the whole call (seconds).
    slo
        The objective that the summary counts good requests by, of an instance in seconds.
    measured
        Latencies as they were measured where the trace was recorded: the summary has them beside
        what is simulated.
    beside
        Bounds that were computed beside the run.
    others
        Policies that were run beside it, to be compared with.
    unrun
        Policies for which the time was too short.

    Examples
    --------
    >>> result = kvopt.solve("tiny_handover", "highs")
    >>> result.status, result.tel, result.bound, result.gap
    ('optimal', 9, 9, 0.0)
    """

    instance: Instance
    finished: Finished
    elapsed: float
    slo: Slo | None = None
    measured: Measured | None = None
    beside: tuple[KnownBound, ...] = ()
    others: tuple[Finished, ...] = ()
    unrun: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Wall clock of the whole call without compiling, which no limit counts.

        ``record.seconds`` is that of the method alone.
        """
        return max(self.elapsed - self.finished.compiling, 0.0)

    @property
    def record(self) -> Record:
        """The run as a row of a store holds it."""
        return self.finished.record

    @property
    def method(self) -> str:
        """The method in its canonical spelling, as in rows, tables and schedule files."""
        return self.record.method

    @property
    def status(self) -> Status:
        """One of the closed list of ``docs/glossary.md``, for the run by itself.

        The row says ``error`` besides, where the optimum that the instance's file states is
        contradicted (``finished.about_the_file``).
        """
        return cast(Status, self.finished.standing)

    @property
    def tel(self) -> int | None:
        """TEL of the best schedule (rounds, or nanoseconds in real time); None without one."""
        return self.record.tel

    @property
    def bound(self) -> int | None:
        """The integer that no TEL is below (of the TEL's unit); None without one."""
        return self.record.lower_bound

    @property
    def batch_time(self) -> str:
        """How long a round took, as text; empty for an instance in rounds."""
        return self.record.batch_time

    @property
    def tel_seconds(self) -> float | None:
        """TEL of the best schedule in seconds; None without one, or for an instance in rounds."""
        return self._seconds(self.tel)

    @property
    def bound_seconds(self) -> float | None:
        """The lower bound in seconds; None without one, or for an instance in rounds."""
        return self._seconds(self.bound)

    def _seconds(self, value: int | None) -> float | None:
        return value / NANOSECONDS if self.batch_time and value is not None else None

    @cached_property
    def timeline(self) -> Timeline:
        """When everything in the schedule happened (nanoseconds), for an instance in seconds.

        Raises
        ------
        ValueError
            If there is no schedule, or the instance is in rounds.
        """
        return timeline(self.instance, self._some_schedule("to put on the clock"))

    @property
    def serving(self) -> Serving:
        """The serving metrics, for an instance in seconds (docs/serving.md).

        Raises
        ------
        ValueError
            As :attr:`timeline` says.
        """
        return serving(self.timeline)

    @property
    def requests(self) -> pd.DataFrame:
        """One row a request: times, latencies, evictions (docs/serving.md), in seconds only.

        Raises
        ------
        ValueError
            As :attr:`timeline` says.
        """
        return request_frame(self.instance, self.timeline, self.slo)

    def goodput(self, slo: str) -> float:
        """Return the requests a second that keep an objective, as in ``ttft:500ms,tpot:50ms``.

        Raises
        ------
        SloError
            If the text is none; a ValueError.
        ValueError
            As :attr:`timeline` says.
        """
        return goodput(self.timeline, read_slo(slo))

    @property
    def gap(self) -> float | None:
        """(TEL − bound) / TEL; None where either is missing or the bound is not about the schedule.

        A bound in rounds is not about one that keeps tokens over an eviction; one in seconds is
        under most batch times (``formulations.valid.loads.not_covered``).
        """
        return self.record.gap if self._bounded else None

    @property
    def _kept(self) -> bool:
        return any_kept((self.finished.schedule or {}).get("kept"))

    @property
    def _bounded(self) -> bool:
        """Whether bounds hold for the schedule."""
        return not self._kept or bounds_kept_tokens(self.instance, self.batch_time)

    @cached_property
    def best_bound(self) -> KnownBound | None:
        """The best bound known of the instance: this run's, or a better one that is kept.

        The registry of best-known values and the store ``results/runs.sqlite`` of the current
        folder are asked (:func:`kvopt.best_bound.best_bound`).
        """
        here = [*of_run(self.instance, self.record, self.certificate), *self.beside]
        tel = None if self._kept else self.tel
        return best_bound(self.instance, self.batch_time, here=here, tel=tel)

    @property
    def left(self) -> float | None:
        """The share of the TEL that any schedule could save at most, by :attr:`best_bound`.

        None where either is missing, the bound is not about the schedule, or one of them is wrong.
        """
        known = self.best_bound
        if self.tel is None or known is None or not self._bounded:
            return None
        return left(self.tel, known.value)

    @property
    def answer(self) -> Answer | None:
        """What vLLM's scheduler leaves, and what knowing more wins; None without others."""
        if not self.others:
            return None
        runs = totals(self.instance, (*self.others, self.finished))
        bound = None if self.best_bound is None else self.best_bound.value
        covers = bounds_kept_tokens(self.instance, self.batch_time)
        return answer_on(self.instance, runs, bound, covers_kept=covers)

    @property
    def exceeded(self) -> tuple[str, ...]:
        """One line if a bound that was computed beside the run exceeds the TEL of its schedule."""
        tel = self.tel if self._bounded else None
        return tuple(
            f"the bound {told_bound(each, self.batch_time)} exceeds the TEL of a checked schedule"
            for each in self.beside
            if tel is not None and tel < each.value
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the result should know, one line each."""
        return self.finished.notes

    @property
    def certificate(self) -> dict[str, Any] | None:
        """What proves the bound by evaluation, as JSON; None where it rests on a search."""
        return self.finished.certificate

    @cached_property
    def schedule(self) -> Schedule | None:
        """The best schedule, checked, with where it comes from; None if there is none."""
        document = self.finished.schedule
        if document is None:
            return None
        origin = document["provenance"] | {"seconds": round(self.seconds, 3)}
        return parse_schedule(document | {"provenance": origin})

    @property
    def trace(self) -> pd.DataFrame:
        """The improvements: columns ``seconds`` (of the method), ``tel``, ``bound`` and ``gap``.

        One row an improvement of either, in the order of time; what is not known yet is missing.
        """
        import pandas as pd  # half a second

        tels = [(seconds, tel, None) for seconds, tel in self.record.incumbents]
        bounds = [(seconds, None, bound) for seconds, bound in self.record.bounds]
        both = sorted([*tels, *bounds], key=lambda improvement: improvement[0])
        rows = pd.DataFrame(both, columns=["seconds", "tel", "bound"], dtype=object).ffill()
        typed = rows.astype({"seconds": float, "tel": "Int64", "bound": "Int64"})
        return typed.assign(gap=gaps(typed["tel"], typed["bound"]))

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw memory over time under a line at M, and the requests that run and wait.

        In rounds memory is stacked by request.

        In a notebook the picture is shown.

        Parameters
        ----------
        path
            Where to write it too, ``.svg``, ``.png`` or ``.pdf``.

        Returns
        -------
        matplotlib.axes.Axes
            Its ``figure`` can be changed and saved.

        Raises
        ------
        ValueError
            If there is no schedule, or the path ends otherwise.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> kvopt.run("tiny_handover", "svf").plot().get_ylabel()
        'KV memory held (tokens)'
        """
        from schedules.picture import picture_of, save_picture, show_picture  # half a second

        # Titled as the summary has it: a file of one's own goes by its own name.
        schedule = replace(self._some_schedule("to draw"), method=self._named)
        if self.batch_time and self.left is not None and self.best_bound is not None:
            # The title has the bound of the summary.
            schedule = replace(schedule, lower_bound=self.best_bound.value)
        figure = picture_of(self.instance, schedule)
        if path is not None:
            save_picture(figure, path)
        show_picture(figure)
        return figure.axes[0]

    def save(self, path: str | Path) -> None:
        """Write the schedule, as ``solve.py --out`` does (``kvopt.schedule/1``).

        Raises
        ------
        ValueError
            If there is no schedule.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> kvopt.run("tiny_handover", "svf").save("schedule.json")
        >>> kvopt.check("tiny_handover", "schedule.json").valid
        True
        """
        write_schedule(self._some_schedule("to write"), path)

    def summary(self) -> list[tuple[str, str]]:
        """Return labels and values of the summary, in a fixed order."""
        record, instance = self.record, self.instance
        served = parse_batch_time(self.batch_time).served if self.batch_time else None
        clock = self.batch_time + (f"  ({served})" if served else "")
        rows = [
            ("instance", instance.name),
            ("n", str(len(instance))),
            ("M", f"{instance.memory} tokens"),
            *([("batch time", clock)] if clock else []),
            ("method", self._shown_method()),
            ("status", self.status),
        ]
        if self.tel is not None:
            mean = instance.unit.mean(self.tel, len(instance))
            rows += [("TEL", f"{self._told(self.tel)}  (from {record.found_by})"), ("AEL", mean)]
        rows += self._of_bounds()
        if self.tel is not None and record.mean_ttft_ms is not None:
            rows += serving_lines(self.timeline, self.slo, self.measured)
            about = self.method, self.batch_time, instance.memory
            if binding := what_binds(*about, self.timeline):
                rows.append(("waiting", binding))
        rows += self._took()
        rows.append(("checker", self._verdict()))
        mismatch = served.mismatch(instance.memory) if served else ""
        sentence = dict(rows).get("covers", "")
        told = [note for note in (mismatch, *self.notes) if note not in sentence]
        rows += [("note", note) for note in told]
        return rows + self._answered()

    def _answered(self) -> list[tuple[str, str]]:
        """Return the line with the answer, and which of its policies were not run."""
        if self.answer is None:
            return [("answer", missing(self.unrun))] if self.unrun else []
        told = f"{', '.join(self.unrun)}, for the answer, to the end; see --time-limit"
        return [("answer", str(self.answer)), *([("not run", told)] if self.unrun else [])]

    @property
    def _no_request_waits(self) -> str:
        record = self.record
        return no_request_waits(record.peak_waiting, record.mean_waiting, record.mean_running)

    def _of_bounds(self) -> list[tuple[str, str]]:
        """Return the lines on what the schedule is compared with, and on how much is left."""
        record, own = self.record, None
        if self.bound is not None:
            own = KnownBound(self.bound, record.bound_source)
        known, left_over = (self.best_bound, self.left) if self.batch_time else (own, self.gap)
        rows = [("lower bound", told_bound(known, self.batch_time))]
        if own and (known is None or self._told(own.value) != self._told(known.value)):
            rows.append(("of this run", told_bound(own, self.batch_time)))
        if self.finished.itself:
            label, told = self.finished.itself
            rows.append((label, told))
        if left_over is not None:
            rows.append(("gap %", f"{100 * left_over:.3f}"))
        if left_over is not None and self.batch_time:
            told = f"at most {percent_left(left_over)} % of the TEL"
            if self._no_request_waits:
                told = f"nothing by order: {self._no_request_waits}"
            rows.append(("left to gain", told))
            rows.append(("covers", coverage(self.instance, self.batch_time)))
        stated = self.instance.stated_optimum
        if stated is not None and not self.finished.about_the_file:
            ratio = f", ratio {self.tel / stated:.4f}" if self.tel else ""
            rows.append(("known optimum", f"{stated}{ratio}"))
        if best := registered(self.instance):
            rows.append(("best known", str(best)))
            # A schedule that keeps tokens solves an easier problem.
            if self.tel is not None and not self._kept:
                rows.append(("gap to best", best.compared(self.tel, self.bound)))
        if record.relaxation is not None:
            rows.append(("LP relaxation", f"{record.relaxation:.6f}"))
        return rows

    def __str__(self) -> str:
        return summary(self.summary())

    def __repr__(self) -> str:
        shown = [f"TEL {self._told(self.tel)}"] if self.tel is not None else []
        shown += [f"lower bound {self._told(self.bound)}"] if self.bound is not None else []
        shown += [f"gap {100 * self.gap:.3f} %"] if self.gap is not None else []
        told = ", ".join([self.status, *shown, f"{self.seconds:.2f} s"])
        return f"<Result of {self._named} on {self.instance.name}: {told}>"

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<tr><th style="text-align:left">{html.escape(label)}</th>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for label, value in self.summary()
        )
        return f"<table>{cells}</table>"

    def _took(self) -> list[tuple[str, str]]:
        # Kernels are compiled once on a machine.
        compiling = f"{self.finished.compiling:.2f} s, not counted"
        rows = [("seconds", f"{self.seconds:.2f}"), ("compiling", compiling)]
        return rows[: 1 if compiling.startswith("0.00 ") else 2]

    def _shown_method(self) -> str:
        """Return the method, and the formulation where it was left to the size."""
        chosen = self.finished.formulation
        left = chosen and f":{chosen}" not in self.method
        return f"{self._named}  ({chosen}, by size)" if left else self._named

    @property
    def _named(self) -> str:
        return shown_method(self.method, self.record.own_name)

    def _told(self, value: int) -> str:
        return self.instance.unit.text(value)

    def _verdict(self) -> str:
        if self.finished.refused:
            return "REFUSED"
        return "nothing to check" if self.tel is None else "valid"

    def _some_schedule(self, wanted: str) -> Schedule:
        if self.schedule is None:
            raise ValueError(f"{self._named} on {self.instance.name}: no schedule {wanted}")
        return self.schedule
