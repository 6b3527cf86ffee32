"""The types that all rooms share: stimulus, step, sample, verdict, deviation, facts.

Knows no other room.
"""
