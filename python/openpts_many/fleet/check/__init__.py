"""What a fleet's configuration gets wrong: of Slurm, of each host, and of the drives in the slots.

Reports what it finds, and changes nothing on a host.
"""
