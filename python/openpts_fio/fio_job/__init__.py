"""A job file of fio as the steps of a test, and what its streams did.

Knows no engine and no device: the steps are those of any test.
"""
