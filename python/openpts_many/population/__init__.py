"""The report on many drives of one kind: spread of values, drives that stand out, effects of the path.

Knows no test by name and no device.
"""
