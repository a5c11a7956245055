"""Mooncake: JSON lines with whole milliseconds and tokens.

Keys ``timestamp``, ``input_length``, ``output_length`` and ``hash_ids`` (FAST25-release of
kvcache-ai/Mooncake), the ids of the prompt's blocks of 512 tokens: a prompt of 6,955 has 14.  The
problem shares no prefixes; the report says how much of the prompts could be shared.  Others write
the same keys with seconds: a fraction of a millisecond is therefore refused.
"""

from dataclasses import replace

from serving.traces.exact_times import MILLISECONDS
from serving.traces.json_readers import RecordReader

READER = RecordReader(
    prompt="input_length",
    output="output_length",
    time="timestamp",
    unit=replace(MILLISECONDS, larger=" (of seconds, as Bailian's are, with --format bailian)"),
    without=("chat_id", "parent_chat_id"),
    prefix="hash_ids",
    block=512,
)
