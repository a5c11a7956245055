"""Serving engines and kvopt's policies, as ``heuristics.reference`` has those of the papers."""
