"""Pure functions of samples: steady state, windows, cells, percentiles, limits. Numbers in, verdicts out.

Reads no file, no device and no clock.
"""
