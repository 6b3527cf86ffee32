"""What an operator may set: parsers, limits, units and words of a condition's value; the time scale.

Knows no test, no record, no file and no device.
"""
