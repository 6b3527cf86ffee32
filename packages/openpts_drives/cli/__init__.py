"""The commands that look at drives and purge them."""
