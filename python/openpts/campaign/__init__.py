"""A plan of many runs in a file: their order, where it stands, and its report."""
