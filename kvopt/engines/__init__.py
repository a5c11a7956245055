"""Engines, one solver a file, each with ``solve(job, report)`` for the run's own process."""
