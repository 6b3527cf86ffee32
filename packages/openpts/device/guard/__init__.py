"""The door to a writable target: rules, the operator's consent, who uses a drive, the claim of a run on it.

Nothing else in openpts opens a drive for writing. What can't be found out counts against the drive.
"""
