"""What a drive is inside, found from outside, and what follows from it: x-ray, twin, decisions, fingerprints.

Everything here is measured by steps that any test could ask for, or computed from records of such.
"""
