"""The same test elsewhere: whether figures agree within their uncertainties, and what may be the cause.

Knows no test by name. Runs nothing itself: its command starts a run as `openpts run` does.
"""
