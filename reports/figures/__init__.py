"""The figures, one idea a file: each maps measured runs to SVG, or to None with nothing to draw."""
