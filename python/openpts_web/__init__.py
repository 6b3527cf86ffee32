"""Runs in a browser: a library of them that others can open, served or published.

Reads run folders and archives, and writes none of them.
"""
