"""Traces of block I/O: what is asked of them, and what comes of it; Rust reads and writes them.

Knows no drive, no record, no test and not how anything is shown.
"""
