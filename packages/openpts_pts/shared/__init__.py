"""Scripts, results, pages and checks that several tests have in common.

Knows no engine and no device.
"""
