"""Summaries of papers: long prompts, outputs of a few hundred tokens, M = 16,492.

Source: wang2025 sec. 7, prompts of mean 2,546.39 and median 2,667.5, outputs of mean 296.08 and
median 161.  Outputs are lognormal by mean and median as in ``chat-lognormal``.  No lognormal has a
mean below its median, so prompts are normal with that mean and a deviation of 900 tokens, our
choice so that nearly all lie below 4,096.  Lengths are rounded and clipped to 1..4,096.  What is
drawn then has means 2,531 and 293, 0.6 and 1 % below the published, and medians 2,546, which is
4.6 % below, and 161.
"""

from instances.families.fitted_lengths import LONGEST, SUMMARY, rows_at_0, service

generate = service(
    "summarize",
    "lengths fitted to wang2025 sec. 7",
    lambda draws, n: rows_at_0(draws, n, SUMMARY),
    2 * LONGEST,
)
