"""Many runs: other hosts, campaigns, sweeps over simulated drives, the archive, populations of drives."""
