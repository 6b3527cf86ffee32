"""What other programs read while a run is in progress, and forms of others for finished runs.

Drives no device and no engine, and does not know how the command line is typed.
"""
