"""Sources of instances: a file or a generator, which is read on demand."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from instances import InfeasibleInstanceError, Instance
from instances.arrivals import redraw_arrivals
from instances.families import families
from instances.generate import name_parameters
from schedules import Status
from serving.traces import TraceOptions, TraceReport
from serving.traces.read_trace import is_instance_file, read_input
from support.json_files import FileError
from support.message_text import one_line

Value = bool | int | float | str
#: Receives the report of a trace; may refuse it by an error that :func:`load` knows.
Listener = Callable[[Instance, TraceReport], object]


@dataclass(frozen=True)
class InstanceSource:
    """An unread instance.

    ``name`` is the path or the draw, for messages.  ``read`` returns the instance and a trace's
    report, or raises an error that :func:`load` knows.  ``file`` is None for a generator.
    """

    name: str
    read: Callable[[], tuple[Instance, TraceReport | None]]
    file: Path | None = None


@dataclass(frozen=True)
class LoadedSource:
    """A source that has been read: an instance with a trace's report, or a fault in one line."""

    name: str
    instance: Instance | None
    fault: str = ""
    fault_status: Status = "error"
    report: TraceReport | None = None


def load(source: InstanceSource, listen: Listener = lambda *_: None) -> LoadedSource:
    """Read a source, or return its fault.  ``listen`` receives a trace's report."""
    try:
        instance, report = source.read()
        if report is not None:
            listen(instance, report)
    except InfeasibleInstanceError as error:
        return LoadedSource(source.name, None, one_line(error), "infeasible")
    except ValidationError as error:
        return LoadedSource(
            source.name, None, f"{source.name}: {one_line(error.errors()[0]['msg'])}"
        )
    except (FileError, ValueError, OSError, RecursionError, MemoryError) as error:
        return LoadedSource(source.name, None, one_line(error) or type(error).__name__)
    return LoadedSource(instance.name, instance, report=report)


def file_source(
    path: str | Path, name: str | None = None, trace: TraceOptions | None = None
) -> InstanceSource:
    """Return the source of an instance file, or of a trace, under a name for faults."""
    shown = str(path) if name is None else name

    def read() -> tuple[Instance, TraceReport | None]:
        return read_input(path, None if is_instance_file(path) else trace, shown)

    return InstanceSource(shown, read, Path(path))


def read_source(instance: Instance) -> InstanceSource:
    """Return the source of an instance."""
    return InstanceSource(instance.name, lambda: (instance, None))


def draw_source(family: str, seed: int, parameters: dict[str, Value]) -> InstanceSource:
    """Return the source of a drawn instance, with all parameters in its name."""
    label = ", ".join([family, f"seed={seed}", *(f"{k}={v}" for k, v in parameters.items())])

    def read() -> tuple[Instance, None]:
        drawn = families()[family].generate(seed=seed, **parameters)
        return name_parameters(drawn, (f"{k}={v}" for k, v in parameters.items())), None

    return InstanceSource(label, read)


def arriving_source(source: InstanceSource, rate: float, seed: int) -> InstanceSource:
    """Return the source of another's requests with ``rate`` Poisson arrivals a second."""

    def read() -> tuple[Instance, TraceReport | None]:
        instance, report = source.read()
        return redraw_arrivals(instance, rate, seed), report

    return InstanceSource(f"{source.name}, rate={rate:g}, arrival_seed={seed}", read)
