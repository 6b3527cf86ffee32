"""Purge methods, one in a module, and the choice among them.

A method erases and reads the drive's state. Whether the purge counts is decided by the proof alone.
"""
