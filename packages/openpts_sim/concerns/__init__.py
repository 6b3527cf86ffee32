"""What joins a run on a simulated drive."""
