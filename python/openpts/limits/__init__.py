"""Limits on measures by key, held against runs and against a baseline of runs: what a run's own limits need.

Knows no test by name and no device.
"""
