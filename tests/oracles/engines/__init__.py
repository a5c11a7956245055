"""Serving engines and kvopt's own rules, as ``heuristics.reference`` has those of the papers."""
