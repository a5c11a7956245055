"""The pages, a module each with a ``PAGE``."""
