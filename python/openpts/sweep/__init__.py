"""Many simulated runs over a range of parameters, each computed once."""
