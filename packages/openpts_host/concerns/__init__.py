"""What joins a run for the sake of the host."""
