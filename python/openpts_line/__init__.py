"""For qualification lines: limits and comparison, what other programs read, and seals."""
