"""What an NVMe drive says of itself, held against what the host saw: logs, power.

Every command that changes a drive goes through a target that the guard opened.
"""
