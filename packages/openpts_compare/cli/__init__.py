"""The commands that put runs beside each other."""
