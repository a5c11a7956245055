"""Source of an instance of a sweep: a file, or a generator; read only when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from instances import InfeasibleInstanceError, Instance
from instances.arrivals import at_rate
from instances.families import families
from schedules import Status
from serving.traces import TraceOptions, TraceReport
from serving.traces.reading import is_instance_file, read_input
from support.jsonfile import FileError
from support.text import one_line

Value = bool | int | float | str
#: Hears what was read of a trace, and what was skipped; may refuse it by an error that
#: :func:`load` knows.
Listener = Callable[[Instance, TraceReport], object]


@dataclass(frozen=True)
class Source:
    """An instance that has not been read yet.

    ``name``: path of the file, or what is drawn: what a fault is reported under.  ``read``: returns
    the instance, and of a trace its report, or raises one of the errors that :func:`load` knows.
    ``file``: the file that is read, None for a generator.
    """

    name: str
    read: Callable[[], tuple[Instance, TraceReport | None]]
    file: Path | None = None


@dataclass(frozen=True)
class Loaded:
    """A source as read: an instance, or one line that says why there is none.

    ``fault_status`` is ``infeasible`` where a request never fits, else ``error``; ``report`` is
    there of a trace.
    """

    name: str
    instance: Instance | None
    fault: str = ""
    fault_status: Status = "error"
    report: TraceReport | None = None


def load(source: Source, listen: Listener = lambda *_: None) -> Loaded:
    """Read a source; what cannot be read is a fault.  ``listen`` receives a trace's report."""
    try:
        instance, report = source.read()
        if report is not None:
            listen(instance, report)
    except InfeasibleInstanceError as error:
        return Loaded(source.name, None, one_line(error), "infeasible")
    except ValidationError as error:
        return Loaded(source.name, None, f"{source.name}: {one_line(error.errors()[0]['msg'])}")
    except (FileError, ValueError, OSError, RecursionError, MemoryError) as error:
        return Loaded(source.name, None, one_line(error) or type(error).__name__)
    return Loaded(instance.name, instance, report=report)


def file_source(
    path: str | Path, name: str | None = None, trace: TraceOptions | None = None
) -> Source:
    """Return the source of an instance file, or of a trace, under a name for faults."""
    told = str(path) if name is None else name

    def read() -> tuple[Instance, TraceReport | None]:
        options = None if trace is None or is_instance_file(path) else trace
        return read_input(path, options, told)

    return Source(told, read, Path(path))


def read_source(instance: Instance) -> Source:
    """Return the source of an instance that is there already."""
    return Source(instance.name, lambda: (instance, None))


def draw_source(family: str, seed: int, parameters: dict[str, Value]) -> Source:
    """Return the source of a drawn instance, its name completed by parameters it does not tell."""
    label = ", ".join([family, f"seed={seed}", *(f"{k}={v}" for k, v in parameters.items())])

    def read() -> tuple[Instance, None]:
        instance = families()[family].generate(seed=seed, **parameters)
        told = instance.name.split("_")
        untold = [
            f"{key}{value}"
            for key, value in parameters.items()
            if str(value) not in told and f"{key}{value}" not in told
        ]
        return replace(instance, name="_".join([instance.name, *untold])), None

    return Source(label, read)


def arriving_source(source: Source, rate: float, seed: int) -> Source:
    """Return the source of another's requests with ``rate`` Poisson arrivals a second."""

    def read() -> tuple[Instance, TraceReport | None]:
        instance, report = source.read()
        return at_rate(instance, rate, seed), report

    return Source(f"{source.name}, rate={rate:g}, arrival_seed={seed}", read)
