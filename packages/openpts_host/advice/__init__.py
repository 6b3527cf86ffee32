"""The host audit's table: settings, what they do to a measurement, which values are right, what to do.

Knows no file, no device and no machine: the values come from ``host/``.
"""
