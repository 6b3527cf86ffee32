"""What other programs read while a run goes on, and forms of others for runs."""
