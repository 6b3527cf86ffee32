"""Results of other programs as runs: read, checked, marked as imported."""
