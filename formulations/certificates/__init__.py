"""Certificates of lower bounds, read and evaluated in integers by code that no search uses."""
