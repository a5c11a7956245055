"""One policy a file; ``POLICY`` is what the registry takes."""
