"""ShareGPT: JSON with conversations, whose first two turns are prompt and answer.

An array, or an object a line, with ``conversations``, each turn with ``from`` and ``value``.  As
``vllm bench serve`` does (ShareGPTDataset in vllm/benchmarks/datasets.py), the first two turns are
taken, whoever speaks; it also leaves out short and long ones, which is not done here.
"""

from typing import Any

from serving.traces.json_readers import ConversationReader, Exchange, first_exchange


def _exchange(record: dict[str, Any]) -> Exchange | None:
    return first_exchange(record.get("conversations"), "value")


READER = ConversationReader(("conversations",), _exchange)
