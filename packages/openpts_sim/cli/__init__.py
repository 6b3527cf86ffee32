"""The commands sim and tour."""
