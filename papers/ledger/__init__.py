"""The ledger: every numbered statement of the papers, with a verdict that can be re-run."""
