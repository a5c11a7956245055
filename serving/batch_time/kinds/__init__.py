"""One batch-time model a file: a docstring whose first line is the summary, and a ``KIND``."""
