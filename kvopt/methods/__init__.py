"""Methods: their grammar, custom methods, and the sources that decide a result."""
