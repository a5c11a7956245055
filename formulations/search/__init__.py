"""Exact searches of our own: no engine decides, prices of any source only steer and prune."""
