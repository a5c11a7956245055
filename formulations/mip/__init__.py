"""Pyomo models, one a file: ``build_model`` returns an unsolved model, solving is elsewhere."""
