"""The custom data set of vllm bench: JSON lines with a prompt and the tokens of its output.

Keys ``prompt`` (text) and ``output_tokens`` (CustomDataset in vllm/benchmarks/datasets.py).  A row
without the latter, which ``vllm bench serve`` accepts, is skipped.
"""

from typing import Any

from serving.traces.json_readers import ConversationReader, Exchange


def _exchange(record: dict[str, Any]) -> Exchange | None:
    prompt = record.get("prompt")
    return (prompt, record.get("output_tokens")) if isinstance(prompt, str) else None


READER = ConversationReader(("prompt",), _exchange, without=("conversation", "conversations"))
