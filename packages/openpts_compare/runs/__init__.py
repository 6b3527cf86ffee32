"""Finished runs side by side: what each measured, by key, and by what it may be held against others.

Knows no test by name, no limit and no page.
"""
