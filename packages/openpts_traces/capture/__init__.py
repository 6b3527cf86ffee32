"""Captures of block devices in use: the ways to the kernel's events, from request to file, what it costs.

Knows no test, no engine and not how anything is shown.
"""
