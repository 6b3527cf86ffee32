"""Many runs: other hosts, the archive, populations of drives."""
