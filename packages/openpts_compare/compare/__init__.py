"""The comparison of runs: its sets of runs, and the pages that show them.

Finds figures by the keys of measures, never by the text of a label.
"""
