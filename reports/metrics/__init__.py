"""The formulas of the reports, one a file; their sources stand in ``reports/METHOD.md``."""
