"""vLLM's scheduler with a queue in the order of a policy of kvopt: ``kvopt_vllm.Scheduler``."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Return ``Scheduler``, so that all else can be imported without vLLM."""
    if name != "Scheduler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kvopt_vllm.scheduler import Scheduler

    return Scheduler
