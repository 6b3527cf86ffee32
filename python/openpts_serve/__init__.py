"""A simulated drive that is served over a network."""
