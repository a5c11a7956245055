"""Smallest work first: machine time base·volume/M + loads, largest feasible prefix (ours).

Clairvoyant, and it knows how long a batch takes: the work of a request is its share h/M of the base
of every round at whose end it holds h tokens, its prefill and its decode steps.  In rounds, which
have no loads, that is the order of ``svf``.  No guarantee is claimed.
"""

import numpy as np

from heuristics.machine_time import machine_time
from heuristics.policy import Keys, Known, ListPolicy


def rank(known: Known) -> Keys:
    """Return places by machine time, whose amounts need not fit into 64 bits."""
    requests = zip(known.prompts.tolist(), known.outputs.tolist(), strict=True)
    model, memory = known.batch_time, known.memory
    amounts = [machine_time(model, memory, s, o, prefilled=False) for s, o in requests]
    return (np.unique(np.array(amounts, dtype=object), return_inverse=True)[1],)


POLICY = ListPolicy("swf", rank=rank)
