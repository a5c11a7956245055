"""Lower bounds that need no solver, evaluated in integers."""
