"""Schema, writer and reader of a run folder; the checks of a record against itself.

Does not know how anything was measured or will be shown.
"""
