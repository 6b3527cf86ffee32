"""The same test elsewhere: whether its figures agree within their uncertainties, and what else may be the cause.

Knows no test by name. Runs nothing itself: its command starts a run as `openpts run` does.
"""
