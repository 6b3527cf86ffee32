"""The gate: limits on measures by key, held against runs and against a baseline of runs.

Knows no test by name and no device.
"""
