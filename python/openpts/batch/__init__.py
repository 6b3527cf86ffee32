"""Several drives tested at once on one host: which ones, on what processors, limited by what.

Knows no test and no engine: each drive is tested by a process of its own.
"""
