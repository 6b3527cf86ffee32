"""Runs on other hosts: five verbs over Slurm, and what a host does for a run.

Knows neither how the command line is typed nor how a test is carried out.
"""
