"""Machine time of requests: the share of each round's base for their tokens, and loads.

In unit rounds, which have no loads, this is the volume.
"""

from instances.batch_time import BatchTime


def machine_time(
    batch_time: BatchTime, memory: int, held: int, tokens: int, *, prefilled: bool
) -> int:
    """Return M times the picoseconds that a request takes for its next tokens.

    In a round at whose end it holds h tokens that is the share h/M of the base, and its load.
    ``held`` are the tokens of its prompt and those made; if not ``prefilled`` they come first.
    """
    shares = batch_time.base * (tokens * held + tokens * (tokens + 1) // 2)
    if prefilled:
        return shares + memory * batch_time.decode_load(held, tokens)
    steps = batch_time.decode_load(held + 1, tokens - 1)
    return shares + memory * (batch_time.prefill_load(held) + steps)
