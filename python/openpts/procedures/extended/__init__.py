"""A folder for each test of the practice beyond the specification; its ``__init__`` declares the test.

Knows no engine, no device and no other test.
"""
