"""Directories as targets, and drives that are formatted and mounted for a program of the operator's.

Knows no test; the guard decides which drive may be formatted.
"""
