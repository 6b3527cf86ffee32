"""`openpts decide`: a question on one drive or two, the rounds that answer it, and when to stop.

``question`` reads it, ``sequential`` judges rounds, ``measured_rounds`` makes them; nothing here knows a
simulated drive from a real one.
"""
