"""The link between host and drive."""
