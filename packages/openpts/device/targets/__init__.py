"""Opens what the command line names: block devices, scratch files, simulated drives.

Whether a target may be written to is for the guard to decide. Knows no test and no engine.
"""
