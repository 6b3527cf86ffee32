"""What a fleet's configuration gets wrong: of Slurm, of each host, and of the drives in the slots."""
