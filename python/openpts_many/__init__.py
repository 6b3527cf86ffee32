"""Many runs: other hosts, sweeps over simulated drives, the archive, populations of drives."""
