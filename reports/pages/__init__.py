"""Pages about one thing."""
