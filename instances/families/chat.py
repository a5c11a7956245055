"""Chat: short prompts and outputs with long tails, gamma, M = 16,492.

Source: chen2025 sec. 6, which draws 2,000 conversations of a public chat data set: prompts of mean
41, median 11, variance 4,961 and range 1..468; outputs of mean 85, median 43, variance 9,702 and
range 1..883; jaillet2025_v2 sec. 5.2 gives means 40.62 and 85.32, medians 11 and 45, and M.  Gamma
laws with that mean and variance (shape 0.339, scale 121; shape 0.745, scale 114) are rounded and
clipped to the ranges.  What is drawn then has mean 40.9, variance 4,621 and median 12, and mean
84.9, variance 9,638 and median 51: clipping takes 7 and 1 % off the variances.  ``chat-lognormal``
has the published means and medians instead, and variances of 3.1 and 1.9 times the published ones.
"""

from instances.families.fitted_lengths import CHAT, CHAT_OUTPUT, CHAT_PROMPT, rows_at_0, service

generate = service(
    "chat",
    "lengths fitted to chen2025 sec. 6",
    lambda draws, n: rows_at_0(draws, n, CHAT),
    CHAT_PROMPT.longest + CHAT_OUTPUT.longest,
)
