"""Tests of the practice beyond the specification, a folder for each.

Knows no other plug-in; a test knows no engine, no device and no other test.
"""
