"""Runs on the drives of other hosts."""
