"""An adversary who sends short requests just before the policy's long one would end.

Three constructions, each with one long request at round 0 that needs the whole memory at its end:

- ``theorem-4.1`` (jaillet2025_v2, Appendix B.1): s = 1, o = M - 1; the policy starts it at round
  b; then M/2 requests with s = 1, o = 1 arrive at b + M - √M/2.  M/2 and √M/2 are rounded down to
  ``M // 2`` and ``isqrt(M) // 2``.
- ``theorem-6.2`` (jaillet2025_v1): prompts of εM tokens, o = M - εM; the policy starts it at b;
  then εM requests with o = 1 arrive at b + M - 2εM.  The integer εM is the parameter ``prompt``.
- ``theorem-6.4`` (jaillet2025_v1), against randomised policies: the same two kinds of requests,
  but the burst does not respond; it arrives at (1 - 2ε)M + jεM, with j drawn uniformly from
  0..c/ε (rounded down), where c is the parameter ``patience``.

:func:`respond` asks a policy for its start b; :func:`generate` is the response to a policy that
starts the long request at once.
"""

from collections.abc import Callable
from math import isqrt
from typing import Annotated, Literal

from instances.families.draws import Draws
from instances.families.shared import Length, Seed, Within, at_least, not_too_many, numbered, ranged
from instances.instance import MAX_TOKENS, Instance

Responding = Literal["theorem-4.1", "theorem-6.2"]
Variant = Literal[Responding, "theorem-6.4"]


@ranged
def generate(
    seed: Seed = 0,
    memory: Annotated[int, Within(4, MAX_TOKENS)] = 256,
    variant: Variant = "theorem-4.1",
    prompt: Length | None = None,
    patience: Annotated[int, Within(1, 100)] = 1,
) -> Instance:
    """Return the answer to a policy that starts the long request at round 0.

    ``prompt``, in ``theorem-6.2`` and ``theorem-6.4``, is every prompt (tokens) and the number of
    short requests (εM, at most M/2; by default M/8).  ``patience`` is c in ``theorem-6.4``: the
    burst comes (1 - 2ε)M to (c + 1 - 2ε)M rounds after the long request, as the ``seed`` draws.
    """
    if variant != "theorem-6.4":
        return respond(lambda _: 0, memory, variant, prompt)
    prompt = _checked_prompt(memory, variant, prompt)
    release = memory - 2 * prompt + prompt * Draws(seed).integer(0, patience * memory // prompt)
    rows = [(0, prompt, memory - prompt)] + [(release, prompt, 1)] * prompt
    return _instance(rows, memory, variant, seed)


def respond(
    start_of: Callable[[Instance], int],
    memory: int = 256,
    variant: Responding = "theorem-4.1",
    prompt: int | None = None,
) -> Instance:
    """Ask a policy when it starts the long request alone, and return the instance against it.

    A deterministic online policy cannot distinguish the two instances before the burst arrives, so
    it starts the long request of the returned one at the same round.  ``start_of`` maps the
    instance with only that request (arrival 0) to this round.
    """
    prompt = _checked_prompt(memory, variant, prompt)
    long = (0, prompt, memory - prompt)
    begin = int(start_of(_instance([long], memory, variant)))
    at_least(0, start=begin)
    if variant == "theorem-4.1":
        release, burst = begin + memory - isqrt(memory) // 2, memory // 2
    else:
        release, burst = begin + memory - 2 * prompt, prompt
    return _instance([long] + [(release, prompt, 1)] * burst, memory, variant)


def _checked_prompt(memory: int, variant: Variant, prompt: int | None) -> int:
    at_least(4, memory=memory)
    not_too_many(1 + (memory // 2 if variant == "theorem-4.1" else prompt or memory // 8))
    if variant == "theorem-4.1":
        if prompt not in (None, 1):
            raise ValueError(f"prompt: expected 1 (or none) in theorem-4.1, found {prompt}")
        return 1
    prompt = max(memory // 8, 1) if prompt is None else prompt
    if not 1 <= prompt <= memory // 2:
        raise ValueError(f"prompt: expected 1 to M/2 = {memory // 2}, found {prompt}")
    return prompt


def _instance(
    rows: list[tuple[int, int, int]], memory: int, variant: Variant, seed: int | None = None
) -> Instance:
    paper = "jaillet2025_v2" if variant == "theorem-4.1" else "jaillet2025_v1"
    label = variant.replace("-", "_").replace(".", "_")
    return Instance(
        name=f"late_burst_{label}_{memory}" + ("" if seed is None else f"_seed{seed}"),
        family="late-burst",
        source=f"{paper} {variant.replace('theorem-', 'Theorem ')}",
        seed=seed,
        memory=memory,
        requests=numbered(rows),
    )
