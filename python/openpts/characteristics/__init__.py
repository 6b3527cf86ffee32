"""What traces are like: figures with their definitions, distances, pages, and synthetic workloads."""
