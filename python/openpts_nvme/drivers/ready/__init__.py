"""The test of time to ready on a drive: ways to interrupt it, and two paced streams that show what it misses.

What counts is where the streams had their longest gap, and when that ended.
"""
