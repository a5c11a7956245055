"""Parts of several engines: the model built, its size, the trust in a tolerance."""
