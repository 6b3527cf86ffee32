"""A record derived once more, and pages of several runs."""
