"""What a drive used up in a run and did on its own: energy, writes to its media, dips of its throughput.

Reads the record alone, and joins what each test reports. It must never import a device, an engine or a test.
Implements: LSI-GEN-04, HYP-BG-01.
"""
