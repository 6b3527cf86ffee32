"""What joins a run for the sake of its drive."""
