"""One batch-time model a file: a docstring whose first line tells of it, and a ``KIND``."""
