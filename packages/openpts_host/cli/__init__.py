"""The command doctor."""
