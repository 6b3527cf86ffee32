"""The short report: what readers of TKperf know, out of the figures and tables of the full one.

Computes no figure of its own.
"""
