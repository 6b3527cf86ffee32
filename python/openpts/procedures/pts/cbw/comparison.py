"""What CBW adds to a comparison of runs."""

from openpts.procedures.shared.demand.comparison import blocks

__all__ = ["blocks"]
