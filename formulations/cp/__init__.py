"""CP-SAT models, one a file.

``start_windows`` says where each request may start, ``build_model`` returns the model on these
windows and its start expressions.  ``cpsat`` shares no code with the integer programs, so that they
can be witnesses of each other's optima.
"""
