"""CP-SAT models, one a file; ``build_model`` returns the model and its start expressions."""
