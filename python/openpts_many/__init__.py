"""Many runs: other hosts, the archive."""
