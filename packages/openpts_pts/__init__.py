"""A folder for each test of the PTS, sections 7 to 14; its ``__init__`` declares the test.

Knows no engine, no device and no other test.
"""
