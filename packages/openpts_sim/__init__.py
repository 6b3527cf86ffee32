"""Presets of simulated drives, their published figures, the effects of a scale.

Knows no engine, no device and no test.
"""
