"""Results of other programs as runs: read, checked, marked as imported.

An import states what its file lacks, and never fills it in.
"""
