"""Optimum and bounds: integer programs, their relaxations, CP-SAT models, solver-free bounds."""
