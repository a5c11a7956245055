"""Choices of a run in seconds: its batch time, and the methods that exist in rounds only."""

from collections.abc import Iterable

from formulations.bounds.computed_bound import ComputedBound
from instances import Instance
from instances.batch_time import BatchTime, BatchTimeError
from kvopt.methods.method import Method
from serving.batch_time import DEFAULT, read_batch_time
from serving.batch_time.batch_time_names import limited
from serving.deployments import GPUS, RecordedSettings
from serving.traces import TraceReport
from support.message_text import one_line
from support.usage_errors import UsageError

ENGINES = ("auto", "bound")
#: Advice for an instance in seconds and a method in rounds.
_ROUNDS = "read the trace with --round-seconds S (API: round_seconds=S) for rounds of S seconds"


class TimeUnitError(UsageError, ValueError):
    """A method or a batch time does not go with the unit of an instance; one line."""


def read_wish(text: str | None) -> BatchTime | None:
    """Return the named batch time, which may be fitted to a file; None for none."""
    try:
        return None if text is None else read_batch_time(text)
    except BatchTimeError as error:
        raise TimeUnitError(one_line(error)) from None


def batch_time_of(
    instance: Instance, wished: BatchTime | None, report: TraceReport | None = None
) -> str:
    """Return the text of an instance's batch time; empty for rounds."""
    if instance.time_unit == "second":
        return with_limits(wished, report).name
    if wished is not None:
        raise TimeUnitError(
            f"{instance.name}: its arrivals are in rounds, which have no length: a batch time "
            "(--batch-time, --gpu) goes with arrivals in seconds; --rate R draws those of a trace, "
            "R a second"
        )
    return ""


def describe_limits(model: BatchTime) -> str:
    """Return one line on the limits of vLLM's scheduler with a batch time."""
    where = f"on {GPUS[model.gpu].name}" if model.gpu else "on an A100: the batch time names no GPU"
    stated = "as the batch time says, else " if model.running or model.budget else ""
    return f"vllm-v1: {model.engine_limits} unless its text says others ({stated}vLLM's {where})"


def describe_simulation(batch_times: Iterable[str], memory: bool) -> str:
    """Return the line below simulated figures on what is computed (``memory``: M, too), or none."""
    computed = ["batch time"] * any(each.startswith("computed(") for each in batch_times)
    parts = " and ".join(computed + ["memory"] * memory)
    return f"simulated; computed, not measured: {parts} (docs/gpus.md)" if parts else ""


def with_limits(wished: BatchTime | None, report: TraceReport | None) -> BatchTime:
    """Return a batch time, or the default, with the trace's limits unless it states limits."""
    model = wished or read_batch_time(DEFAULT)
    if report is None or model.gpu or model.running or model.budget:
        return model
    return limited(model, report.settings.running or 0, report.settings.budget or 0)


def describe_batch_time(model: BatchTime, default: bool) -> str:
    """Return one line on the model and the memory of a batch time; empty if it names none."""
    if model.served is None:
        return ""
    how = "the default, --batch-time names another" if default else model.name
    held = f"would hold {model.served.memory.tokens:,} tokens"
    return f"batch time of {model.served} ({how}), which {held}"


def refuse_silent_default(report: TraceReport | None, wished: BatchTime | None) -> str:
    """Refuse a trace of one model with the default of another; return a line on a named one.

    The line also has recorded limits of vLLM's scheduler that the named batch time replaces.
    """
    if report is None:
        return ""
    settings, named = report.settings, wished or read_batch_time(DEFAULT)
    served, limits, lines = named.served, with_limits(named, report).engine_limits, []
    if settings.model and served is not None and not served.is_of(settings.model):
        measured = f"measured with {settings.model}"
        if wished is None:
            fits = f"kvopt calibrate {report.file} fits one" if report.measured else "--batch-time"
            raise TimeUnitError(
                f"{report.file}: {measured}, and the default batch time is that of {served}: name "
                f'a batch time ({fits}; "fitted(FILE.csv)" of measured rounds, docs/real_time.md), '
                f"GPU and model (--gpu, --model), or {DEFAULT} to have that of {served} all the "
                "same"
            )
        lines.append(f"{measured}, the batch time is that of {served}")
    has = limits.server, limits.running
    if has != (settings.budget or has[0], settings.running or has[1]):
        keeps = f'--policy "{recorded_engine(settings)}" states the recorded'
        lines.append(f"vllm-v1 takes {limits} of the batch time, {keeps}")
    return f"{report.file}: {'; '.join(lines)}" if lines else ""


def recorded_engine(settings: RecordedSettings) -> str:
    """Return vLLM's scheduler with the limits of a file, by default of the GPU."""
    limits = {"block": settings.block, "budget": settings.budget, "running": settings.running}
    return f"vllm-v1({','.join(f'{name}={value}' for name, value in limits.items() if value)})"


def refuse_rounds_only(instance: Instance, method: Method) -> None:
    """Raise an TimeUnitError for a method in rounds only and an instance in seconds."""
    if reason := rounds_only(instance, method):
        raise TimeUnitError(f"{method.text} {reason}")


def too_late(instance: Instance) -> str:
    """Return a line on a request that arrives later than nanoseconds hold; empty without one."""
    if instance.time_unit == "second":
        try:
            _ = instance.arrival_times
        except ValueError as error:
            return one_line(error)
    return ""


def rounds_only(instance: Instance, method: Method) -> str:
    """Return why a method cannot run an instance with its arrivals; empty if it can."""
    if reason := too_late(instance):
        return f"cannot run {reason}"
    declared = None if method.model is None else method.model.declared
    in_seconds = isinstance(declared, ComputedBound) and declared.time_unit == "second"
    if instance.time_unit == "round":
        return f"is in seconds, and {instance.name} has arrivals in rounds" if in_seconds else ""
    if method.kind in ("file", "policy"):
        runs = not (method.advised and instance.arrival_times.any())
        what = "is advised by an LP relaxation in rounds"
    else:
        runs = method.solver in ENGINES and (not method.formulation or in_seconds)
        what = "solves models in rounds"
    return "" if runs else f"{what}, and {instance.name} has arrivals in seconds: {_ROUNDS}"
