"""NVMe admin commands and their data structures, byte by byte; the subsystem as a whole.

Does not decide when a command may be sent.
"""
