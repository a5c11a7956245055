"""Smallest volume first, passing over what does not fit (variant of arXiv 2606.22327, SVF).

Clairvoyant.  The order of ``svf``; in every round each waiting request is tried, where ``svf``
stops at the first that does not fit.  The guarantee of ``svf`` is not claimed for it.
"""

from heuristics.policies import svf
from heuristics.policy import ListPolicy

POLICY = ListPolicy("svf-first-fit", rank=svf.POLICY.rank, first_fit=True)
