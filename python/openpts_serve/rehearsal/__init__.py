"""Runs a plan for a real drive on a simulated one; compares presets with published figures.

Does not know how anything is shown.
"""
