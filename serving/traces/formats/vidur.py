"""Vidur's processed traces: a CSV with seconds and tokens.

Columns ``arrived_at,num_prefill_tokens,num_decode_tokens`` (data/processed_traces of
microsoft/vidur).
"""

from serving.traces.csv_reader import TableReader
from serving.traces.exact_times import SECONDS

READER = TableReader(
    prompt="num_prefill_tokens", output="num_decode_tokens", time="arrived_at", unit=SECONDS
)
