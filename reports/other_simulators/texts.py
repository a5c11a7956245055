"""What the page says besides its numbers."""

from __future__ import annotations

INTRODUCTION = """\
# The same traces in other simulators

Three simulators of continuous batching run the same requests on the same worker: this suite's
`vllm-v1` in real time, [Vidur](https://github.com/microsoft/vidur) (commit `7d47513`, November
2024) and [BLIS](https://github.com/inference-sim/inference-sim) (commit `f90a1e3`, August 2026),
whose batch formation follows that of vLLM's V1 engine.  Equal are the traces, the number of blocks
and their size, the token budget of a round, the most running requests, and the time of a batch.

- **Vidur** runs unchanged.  Its registries replace its predictor of batch times by the function
  below, and its generator of requests by the trace.  (Its own predictor learns from profiles, and
  the attention tables of these were not in the available copy.)  The share of blocks that it
  leaves free at admission is set to 0 (default 0.01).  Its scheduler `sarathi` cuts prompts and
  mixes them with decoding requests, as vLLM's V1 engine does; its scheduler `vllm` is that of the
  engine before, V0, in which the running requests wait while prompts are prefilled.
- **BLIS** runs unchanged.  Its latency model is a sum of physical terms with a coefficient each;
  for a model of one layer and one head these are plain counts, so that the coefficients are those
  of the function below, and its tick is read as a nanosecond.  Its term for attention within a
  prompt differs from ours where prompts are cut: only the last scenario, without BLIS, has
  squares.
- **The batch time** is `llama2-70b-2xa100`, with its term for squares in the last scenario and
  without it in the others: P prompt tokens (p of one prompt) and D decoding requests, which read K
  tokens.

All three count in integer nanoseconds, so times are compared exactly.  Latency is completion minus
arrival.  The last two columns compare a line with kvopt's: requests with the same first token,
completion and number of evictions, and pairs of requests that complete in opposite orders.

```
python -m reports.other_simulators --vidur VIDUR --python PYTHON --blis BLIS
python -m reports.other_simulators --check
```

VIDUR is a checkout of Vidur, PYTHON an interpreter with its dependencies, BLIS the program; a
simulator that is not named keeps its rows.  {traces}
"""

TRACES = """\
The traces are committed in
Vidur's format: 1,000 requests with Poisson arrivals, seed 0, of the families `chat` (gamma laws
with the published moments) and `mix80-20` (the same, and summaries for every fifth request)."""

DIFFERENCES = """\
[`bridge.py`](bridge.py) is a literal simulator with a switch for each rule that differs.  With no
switch turned it has the first token, completion and evictions of every request as in kvopt; with
all switches of a table turned, as in the table's last line, those of the other simulator.  So no
other rule differs.  The tests also compare kvopt with it on small random traces.
"""

#: Rule, what it is here, what it is there, and which of both is nearer to vLLM.
RULES = (
    (
        "token_held",
        "the token that a round makes is held from that round's end on, as in the integer programs",
        "its keys and values are stored when the next round reads it, so that a running request "
        "holds one token less",
        "there",
    ),
    (
        "whole_fits",
        "a prompt is begun only when the blocks of all of it are free, though a chunk takes only "
        "its own",
        "BLIS: when the blocks of the first chunk are free",
        "here (`scheduler_reserve_full_isl` of 2026, by default on)",
    ),
    (
        "whole_prompt",
        "a chunk takes its own blocks",
        "Vidur: the first chunk takes the blocks of the whole prompt",
        "here",
    ),
    (
        "output_kept",
        "an evicted request keeps the tokens that it made, and prefills them with its prompt",
        "BLIS: it makes them again one by one, and the first token counts when it is made again",
        "here",
    ),
    (
        "prefix_cached",
        "an evicted prompt is computed again",
        "BLIS: those of its blocks that were not reused since are found again; a prompt that is "
        "found whole takes no time, and holds no blocks",
        "there (prefix caching is by default on), except for a prompt that is found whole, of "
        "which vLLM computes at least one token",
    ),
    (
        "admits_always",
        "a round that evicts admits no request",
        "Vidur: it admits, and may admit the request that it has evicted",
        "here",
    ),
    (
        "spare_block",
        "requests are evicted when the blocks do not suffice",
        "Vidur: already when none is free for a decoding request, whether it needs one or not",
        "here",
    ),
    (
        "cut_forgotten",
        "an evicted request keeps its lengths",
        "Vidur: evicted within its prompt it loses the rest of the prompt, and makes as many "
        "output tokens more (a fault)",
        "here",
    ),
    (
        "overlaps",
        "a round begins when the one before has ended",
        "BLIS: when a round completes all that run and no request waits as it begins, one that "
        "arrives during it does not wait for its end (a fault)",
        "here",
    ),
    (
        "prefill_alone",
        "prompts and decoding requests share a round",
        "Vidur's `vllm`: as long as prompts can be admitted they run alone; their number times the "
        "longest is within the budget",
        "here for V1, there for V0",
    ),
)

CLOSING = """\
## What follows

- Where memory suffices, nothing differs from Vidur's `sarathi` and from BLIS: every first token and
  every completion is the same to the nanosecond.
- Where memory does not suffice, kvopt's rules are vLLM's, except two.  It counts a token from the
  end of the round that makes it: the convention of the integer programs, under which all policies,
  bounds and optima of this suite are compared.  And it has no prefix cache: an evicted prompt
  costs its whole time again.
- With prompts that are cut, two rules explain most of the difference.  Where a prompt begins
  without room for all of it (`whole_fits` turned), a request evicts itself in the middle of its
  prompt again and again, unless a prefix cache saves its blocks; vLLM reserves the room by
  default.  And `cut_forgotten` determines most of Vidur's latencies there.
- `cut_forgotten` and `overlaps` are faults of the versions named above, as far as we can see: no
  engine forgets a prompt or runs two batches at once.
- Not compared: the other simulators' own batch times, several workers, sessions, vLLM itself.
"""
