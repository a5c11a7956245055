"""The options of commands for instances in seconds."""

import re
from collections.abc import Iterable
from pathlib import Path

from instances import Instance
from instances.batch_time import BatchTime
from kvopt.checked_numbers import read_count
from kvopt.commands import completion
from serving.batch_time import DEFAULT
from serving.batch_time_choice import TimeUnitError, batch_time_of, read_wish, too_late, with_limits
from serving.deployments import GPUS, MODELS, Deployment, DeploymentError, deployment
from serving.slo import read_slo
from serving.traces import TraceReport
from serving.traces.read_trace import is_trace
from support.click_command import CommandOptions, join_options, option
from support.usage_errors import UsageError

BATCH_TIME_OPTION = option(
    "--batch-time", "TEXT", f"how long rounds take (default: {DEFAULT})", completion.clocks
)
DEPLOYMENT_OPTIONS = join_options(
    option("--gpu", "NAME", "memory and batch time of these GPUs, as h100-80"),
    option("--model", "NAME", "the model on them, as llama3.1-8b (docs/gpus.md)"),
    option("--tp", "N", "GPUs that share the model (default: 1)", read_count),
)
SLO_OPTION = option("--slo", "TEXT", "objective of goodput, as ttft:1s,tpot:50ms,e2el:9s", read_slo)
SERVING_OPTIONS = join_options(
    BATCH_TIME_OPTION,
    DEPLOYMENT_OPTIONS,
    SLO_OPTION,
    option("--requests", "FILE", "write a row a request in seconds (.csv or .parquet)"),
)


def named_deployment(options: CommandOptions) -> Deployment | None:
    """Return the named model and GPUs; None without them."""
    given = {"--gpu": options.gpu, "--model": options.model}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given) and options.tp is None:
        return None
    if missing:
        raise UsageError(
            f"--gpu, --model: expected both, found no {missing[0]}; GPUs: {', '.join(GPUS)}; "
            f"models: {', '.join(MODELS)}"
        )
    try:
        return deployment(options.model, options.gpu, options.tp or 1)
    except DeploymentError as error:
        raise UsageError(str(error)) from None


def deploy(options: CommandOptions, inputs: Iterable[str | Path]) -> bool:
    """Take memory and batch time from the model and its GPUs, unless they are given.

    The memory of an instance file stays.  A batch time that names no GPU gets these, for the limits
    of vLLM's scheduler.  Return True if the memory is taken.
    """
    found = named_deployment(options)
    if found is None:
        return False
    own = read_wish(options.batch_time)
    if own is None:
        options.batch_time = found.batch_time
    elif not own.gpu:
        text, closed, behind = options.batch_time.rpartition(")")
        name, *limits = re.split(r"\s+with\s+", behind, maxsplit=1, flags=re.IGNORECASE)
        options.batch_time = " with ".join([f"{text}{closed}{name} on {found.gpu}", *limits])
    if taken := options.trace_memory is None and any(map(is_trace, inputs)):
        options.trace_memory = found.served.memory.tokens
    return taken


def chosen_batch_time(
    instance: Instance, options: CommandOptions, report: TraceReport | None
) -> BatchTime | None:
    """Return the batch time of a run, None in rounds, or raise an :class:`TimeUnitError`."""
    wished = read_wish(options.batch_time)
    if not batch_time_of(instance, wished):
        for option in ("slo", "requests"):
            if getattr(options, option) is not None:
                raise TimeUnitError(
                    f"--{option}: goes with arrivals in seconds, {instance.name} has them in rounds"
                )
        return None
    if reason := too_late(instance):
        raise TimeUnitError(reason)
    return with_limits(wished, report)
