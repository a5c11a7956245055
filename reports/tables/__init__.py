"""The tables, one idea a file: each maps measured runs to a :class:`reports.table.Table`."""
