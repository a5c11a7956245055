"""Ratios that the benchmarks measured, night after night."""
