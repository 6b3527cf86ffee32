"""Commands of this plug-in."""
