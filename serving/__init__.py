"""All in seconds: traces, batch times, GPUs, metrics, bounds, rates, capacity and the answer."""
