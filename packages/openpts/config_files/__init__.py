"""Files that an operator writes: read whole, with the place of each value, and held against a shape.

Does not know what a file is for.
"""
