"""Many runs: other hosts, ."""
