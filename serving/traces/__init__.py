"""Traces of real services as instances: one reader a file in ``formats``, one way in for all."""

from serving.traces.trace_options import TraceOptions
from serving.traces.trace_report import TraceError, TraceReport

__all__ = ["TraceError", "TraceOptions", "TraceReport"]
