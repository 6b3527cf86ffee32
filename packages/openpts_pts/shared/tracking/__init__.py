"""A continuous stimulus judged by single minutes: WSAT, and preconditioning of HIR, CBW and DIRTH.

Knows no engine and no device.
"""
