"""Runs in a browser: a library of them, served to others.

Reads run folders, and writes none of them.
"""
