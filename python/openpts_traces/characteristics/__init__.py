"""What traces are like: figures with their definitions, distances, pages, and synthetic workloads.

Rust computes the figures. Knows no drive, no record and no test.
"""
