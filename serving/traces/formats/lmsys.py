"""LMSYS-Chat-1M: conversations as JSON lines.

Key ``conversation``: turns with ``role`` and ``content`` (the data set's card,
lmsys/lmsys-chat-1m).  The first question and its answer make a request.
"""

from typing import Any

from serving.traces.json_readers import ConversationReader, Exchange, first_exchange


def _exchange(record: dict[str, Any]) -> Exchange | None:
    return first_exchange(record.get("conversation"), "content", "role", ("user", "assistant"))


READER = ConversationReader(("conversation",), _exchange)
