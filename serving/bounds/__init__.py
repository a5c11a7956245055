"""Bounds in seconds, and the evaluation of their certificates."""
