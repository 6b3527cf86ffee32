"""What a drive used up in a run and did on its own: energy, writes to its media, dips of its throughput.

Implements: LSI-GEN-04, HYP-BG-01.
"""
