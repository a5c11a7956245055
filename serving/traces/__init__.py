"""Traces of real services as instances: one reader a file in ``formats``, one way in for all.

:func:`serving.traces.read_trace.read_trace` serves the commands, the API, suites and sweeps.
"""

from serving.traces.trace_options import TraceOptions
from serving.traces.trace_report import TraceError, TraceReport

__all__ = ["TraceError", "TraceOptions", "TraceReport"]
