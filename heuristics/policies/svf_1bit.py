"""Small volumes before large ones, one bit a request (our reading of arXiv 2606.22327, 1-bit SVF).

The bit says whether a volume s·o + o(o+1)/2 is at most ``threshold`` rounds of the whole memory.

The source names a 1-bit variant of its rule; we know its abstract only, so rule, unit and default
of the threshold are ours, and no guarantee of the source is claimed.  The common admission still
uses the true outputs, so this policy counts as clairvoyant.
"""

from heuristics.policy import ListPolicy, Parameter

POLICY = ListPolicy(
    "svf-1bit",
    parameters=(
        Parameter("threshold", 1.0, 0.0, 1e9, "largest volume that counts as small, rounds of M"),
    ),
    rank=lambda known: (known.volumes > known.values["threshold"] * known.memory,),
)
