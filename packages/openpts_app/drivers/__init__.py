"""Drivers of tests that do more than steps: each in a folder of its own, which its procedure names."""
