"""For qualification lines: limits and comparison, and what other programs read."""
