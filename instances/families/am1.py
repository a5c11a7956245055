"""Small memories, all requests at round 0, outputs up to the whole memory.

Source: jaillet2025_v2 section 5.1, arrival model 1 (200 trials there): M uniform on 30..50, n
uniform on 40..60, s uniform on 1..5, o uniform on 1..M-s, every draw independent.
"""

from typing import Annotated

from instances.families.draws import Draws
from instances.families.shared import Count, Seed, Within, drawn, ranged
from instances.instance import MAX_TOKENS, Instance

_LONGEST_PROMPT = 5


@ranged
def generate(
    seed: Seed = 0,
    n: Count | None = None,
    memory: Annotated[int, Within(2, MAX_TOKENS)] | None = None,
) -> Instance:
    """Draw an instance of arrival model 1, with ``n`` requests and ``memory`` M (tokens) if given.

    These are drawn all the same and then replaced, so the first requests of ``generate(seed, n=8)``
    are those of ``generate(seed)``.
    """
    draws = Draws(seed)
    drawn_memory, drawn_n = draws.integer(30, 50), draws.integer(40, 60)
    memory = drawn_memory if memory is None else memory
    n = drawn_n if n is None else n
    rows = [(0, *draw_sizes(draws, memory)) for _ in range(n)]
    return drawn("am1", "jaillet2025_v2 section 5.1, arrival model 1", seed, memory, rows)


def draw_sizes(draws: Draws, memory: int) -> tuple[int, int]:
    """Draw prompt and output (tokens) of one request, as both arrival models do."""
    prompt = draws.integer(1, min(_LONGEST_PROMPT, memory - 1))
    return prompt, draws.integer(1, memory - prompt)
