"""Commands on a drive's inside and its twin."""
