"""Engines, one a file: ``solve``, and a literal ``ENGINE`` for ``kvopt.methods.engine_table``."""
