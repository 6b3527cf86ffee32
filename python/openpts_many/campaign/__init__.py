"""A plan of many runs in a file: their order, where it stands, and its report.

Does not know how anything is shown.
"""
