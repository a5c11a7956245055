"""Alibaba's Bailian (Qwen): JSON lines with seconds and tokens, known by chat_id, parent_chat_id.

Keys ``chat_id``, ``parent_chat_id``, ``timestamp`` (seconds since the first), ``input_length``,
``output_length``, ``type``, ``turn`` and ``hash_ids``, the ids of the prompt's blocks of 16 tokens
(README of alibaba-edu/qwen-bailian-usagetraces-anon).  A turn is a separate request, at its time,
whoever its parent is; the report says how much of the prompts could be shared.
"""

from serving.traces.exact_times import SECONDS
from serving.traces.json_readers import RecordReader

READER = RecordReader(
    prompt="input_length",
    output="output_length",
    time="timestamp",
    unit=SECONDS,
    also=("chat_id", "parent_chat_id"),
    prefix="hash_ids",
    block=16,
)
