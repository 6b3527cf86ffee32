"""What made single I/Os slow: for each a cause with its evidence, from the record alone.

`rules.py` is the table of causes, `around.py` what the record has of the time of an I/O, `monitor.py` the
drive's own latency monitor as the second witness, `judge.py` joins them, and `pages.py` shows them.
"""
