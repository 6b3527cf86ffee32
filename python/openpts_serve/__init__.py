"""A simulated drive that others use: served over a network, or to rehearse a plan on."""
