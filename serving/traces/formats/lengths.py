"""Lengths without arrivals: a CSV of tokens, as Vidur's of arXiv summaries.

Columns ``num_prefill_tokens,num_decode_tokens`` and others, but no ``arrived_at``
(data/processed_traces of microsoft/vidur).
"""

from serving.traces.csv_reader import TableReader

READER = TableReader(
    prompt="num_prefill_tokens", output="num_decode_tokens", without=("arrived_at",)
)
