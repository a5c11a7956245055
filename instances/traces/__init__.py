"""Traces of real services as instances: one reader a file in ``formats``, one way in for all.

:func:`instances.traces.reading.read_trace` serves the commands, the API, suites and sweeps.
"""

from instances.traces.options import TraceOptions
from instances.traces.report import TraceError, TraceReport

__all__ = ["TraceError", "TraceOptions", "TraceReport"]
