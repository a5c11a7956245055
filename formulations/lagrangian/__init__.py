"""Costs of schedules under prices on memory, windows and states, and the bounds this certifies."""
