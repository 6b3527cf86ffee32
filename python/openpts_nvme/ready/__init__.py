"""How soon an NVMe drive works again after it was reset, removed or without power.

The drive is asked all the time by two paced streams, of Identify commands and of reads; what counts is where
they had their longest gap, and when that ended.
"""
