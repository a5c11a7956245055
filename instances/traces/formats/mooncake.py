"""Mooncake: JSON lines with milliseconds and tokens.

Keys ``timestamp``, ``input_length``, ``output_length`` and ``hash_ids`` (FAST25-release/traces of
kvcache-ai/Mooncake); the hashes of shared prefix blocks are not used.
"""

from instances.traces.records import RecordReader
from instances.traces.times import MILLISECONDS

READER = RecordReader(
    prompt="input_length", output="output_length", time="timestamp", unit=MILLISECONDS
)
