"""The dry driver of scripts: what a run will do on assumed rates, how long it takes, what it writes.

Knows no device, no engine and no file.
"""
