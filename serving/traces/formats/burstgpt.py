"""BurstGPT: a CSV with seconds and tokens, in which failed requests have no response tokens.

Columns ``Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type``, later files also
``Session ID`` and ``Elapsed time`` (README of HPMLL/BurstGPT).  ``Timestamp`` counts seconds from
the first midnight.
"""

from serving.traces.csv_reader import TableReader
from serving.traces.exact_times import SECONDS

READER = TableReader(
    prompt="Request tokens", output="Response tokens", time="Timestamp", unit=SECONDS, failures=True
)
