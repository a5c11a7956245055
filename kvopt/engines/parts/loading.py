"""The formulation's module of a job, and the options that it is called with."""

from __future__ import annotations

import importlib
from typing import Any

from kvopt.engines.job import Job


def load_formulation(job: Job) -> tuple[Any, dict[str, Any]]:
    """Return the module and the keyword argument ``options`` if the module has ``Options``."""
    module = importlib.import_module(job.module)
    kind = getattr(module, "Options", None)
    return module, {} if kind is None else {"options": kind(**job.options)}
