"""What runs inside an engine's process: one solver a file, each with ``solve(job, report)``."""
