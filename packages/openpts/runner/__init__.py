"""Drives a script on an engine: preparation, ledger, record, events for displays, resuming, healing.

``device_under_test.py`` is the seam between physical and simulated devices. Does not know how anything is
shown.
"""
