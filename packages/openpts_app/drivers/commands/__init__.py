"""Programs of the operator's as benchmarks, in a directory or on a drive that is mounted for them."""
