"""Four fifths lognormal chat and one fifth summaries in random order, M = 16,492.

Source: wang2025 sec. 7, which shuffles 1,600 chat requests and 400 summaries; lengths as in the
families ``chat-lognormal`` and ``summarize``.  Exactly round(n / 5) requests are summaries.  The
paper's mix has prompts of mean 542.75 and median 18, and outputs of mean 127.50; here these are
538.5, 18 and 126.8.
"""

from instances.families.fitted_lengths import CHAT_LOGNORMAL, LONGEST, mixed_rows, service

generate = service(
    "mix80-20-lognormal",
    "wang2025 sec. 7, lengths fitted",
    lambda draws, n: mixed_rows(draws, n, CHAT_LOGNORMAL),
    2 * LONGEST,
)
