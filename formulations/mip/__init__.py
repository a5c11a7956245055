"""Pyomo models, one a file; ``build_model`` returns an unsolved model, solving is elsewhere.

Every model has the start variables ``x[i, t]`` (request i of the instance starts at round t), the
memory rows ``memory[t]``, whose duals are the prices of memory, and the TEL as objective.
"""
