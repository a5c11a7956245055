"""Traces of splitwise-sim: a CSV with seconds and tokens.

Columns ``request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,
token_size`` (traces of Mutinifni/splitwise-sim); a row is one request, whatever its batch_size.
"""

from serving.traces.csv_reader import TableReader
from serving.traces.exact_times import SECONDS

READER = TableReader(
    prompt="prompt_size", output="token_size", time="arrival_timestamp", unit=SECONDS
)
