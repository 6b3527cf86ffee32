"""Demand variation: script, results, pages and checks of CBW and DIRTH (PTS 13, 14).

Knows no engine and no device.
"""
