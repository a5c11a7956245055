"""Chat with lognormal lengths, of the published means and medians, M = 16,492.

Source: jaillet2025_v2 sec. 5.2, which serves a public chat data set with prompts of mean 40.62 and
median 11 and outputs of mean 85.32 and median 45 under 16,492 tokens.  A lognormal length has
median exp(μ) and mean exp(μ + σ²/2), so both numbers fix it: σ² = 2·ln(mean / median).  Lengths
are rounded and clipped to 1..4,096, which takes about 1 % off the means.  Its variances are 3.1
and 1.9 times those that chen2025 publishes, which ``chat`` has.
"""

from instances.families.fitted_lengths import CHAT_LOGNORMAL, LONGEST, rows_at_0, service

generate = service(
    "chat-lognormal",
    "lengths fitted to jaillet2025_v2 sec. 5.2",
    lambda draws, n: rows_at_0(draws, n, CHAT_LOGNORMAL),
    2 * LONGEST,
)
