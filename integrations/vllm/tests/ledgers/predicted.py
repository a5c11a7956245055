"""As srpt-predicted while it waits: the least work by the middle of the prediction first."""

import numpy as np

from heuristics.policy import Keys, Known, ListPolicy
from heuristics.preemptive_exchange import RemainingWork


def rank(known: Known) -> Keys:
    """Less work by the middle of the interval first."""
    work = RemainingWork(known, (known.lower + known.upper + 1) // 2)
    return (np.array([work.waiting(each, 0) for each in range(len(known))]),)


POLICY = ListPolicy("predicted", rank=rank, clairvoyant=False)
