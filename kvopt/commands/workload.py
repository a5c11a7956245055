"""What the commands over rates of arrivals share: the requests, the store, what is written."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from instances import Instance
from instances.batch_time import DEFAULT, BatchTime, read_batch_time
from instances.families import families
from instances.generate import drawn_family
from instances.named import find_instance, hides
from instances.traces.arguments import trace_options
from instances.traces.reading import read_input
from kvopt.places import DEFAULT_STORE
from kvopt.running.batch_time import refuse_silent_default, whose
from kvopt.store import StoreError
from kvopt.store.files import store_files
from support.command import Options
from support.jsonfile import write_text
from support.masking import mask_text
from support.outputs import OutputError, check_apart, check_outputs
from support.text import find_name
from support.usage import UsageError, complain


def tell_whose(instance: Instance, wished: BatchTime | None) -> None:
    """Say on standard error what the batch time is of, and whether the memory goes with it."""
    model = read_batch_time(DEFAULT) if wished is None else wished
    if model.served is not None:
        mismatch = model.served.mismatch(instance.memory)
        lines = [whose(model, default=wished is None), *([mismatch] if mismatch else [])]
        print("\n".join(lines), file=sys.stderr)


def check_workload_outputs(options: Options) -> None:
    """Refuse what cannot be written or must not be; all that is read has been read."""
    kept = store_files(options.store or DEFAULT_STORE)
    check_apart({"--store": kept[0] if kept else None})
    check_outputs({"--export": options.export, "--plot": options.plot}, kept)


def store_of(options: Options) -> str:
    """Return where runs are kept, by default in a folder that is made."""
    if options.store is not None:
        return str(options.store)
    try:
        DEFAULT_STORE.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{DEFAULT_STORE.parent}: {error.strerror}") from None
    return str(DEFAULT_STORE)


def write_texts(options: Options, texts: Mapping[str, str]) -> None:
    """Write texts to the files that options name."""
    for name, text in texts.items():
        path = getattr(options, name)
        try:
            write_text(path, text)
        except OSError as error:
            raise OutputError(f"--{name} {path}: could not be written: {error.strerror}") from None


def workload(options: Options, wished: BatchTime | None, who: str) -> Instance:
    """Return the requests: of a family, a trace, or an instance.

    Parameters
    ----------
    who
        Says when they arrive, for messages.
    """
    if options.trace_arrival_seed is not None:
        raise UsageError("--arrivals is the seed of the arrivals here: leave out --arrival-seed")
    trace = trace_options(options)
    if trace.rate is not None or trace.round_seconds is not None:
        raise UsageError(f"{who} when requests arrive: leave out --rate and --round-seconds")
    family = find_name(options.input, families())
    if family is not None and not Path(options.input).exists():
        if trace.given:
            raise UsageError(f"{', '.join(trace.given)}: goes with a trace, {family} is a family")
        return drawn_family(family, options.seed, options.set)
    if options.set:
        raise UsageError(f"--set goes with a family, {options.input} is none")
    if hidden := hides(options.input):
        complain(options.program, hidden)
    instance, report = read_input(find_instance(options.input), trace)
    if report is not None and not options.quiet:
        print("\n".join(map(mask_text, report.lines)), file=sys.stderr)
    if foreign := refuse_silent_default(report, wished):
        complain(options.program, foreign)
    return instance
