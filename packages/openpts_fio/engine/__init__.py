"""fio as an engine: steps as job files, one process for each step, its JSON as samples.

A second opinion on the native engine. Knows no test; what fio can't do is refused by name.
"""
