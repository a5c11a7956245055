"""Sweeps: inputs, plans, failures and comparisons of many runs."""
