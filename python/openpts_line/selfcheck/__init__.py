"""The instrument proves itself: clocks, engine, histograms, analysis and reports against what is known.

Each check knows beforehand what has to come out, and never takes it from what is checked.
"""
