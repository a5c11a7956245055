"""The nightly tables: rows of the suite ``nightly``, compared with those that are committed."""
