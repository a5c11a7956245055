"""Exact searches by dynamic programming: forward, backward, bidirectional, over counts."""
