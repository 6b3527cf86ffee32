"""Runs on other hosts: five verbs over Slurm or ssh, and what a host does for a run."""
