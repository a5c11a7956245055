"""Pages of experiments: one module per page, with a ``PAGE``."""
