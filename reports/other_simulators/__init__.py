"""The same traces in simulators that others wrote: Vidur and BLIS."""
