"""A run's record as a judge reads it: findings, and the checks that hold for any test.

Knows no script, no device and no engine.
"""
