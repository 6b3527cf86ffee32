"""Seals: a signed statement of all files of a folder and of what its runs have shown, and its verification.

Signs nothing itself: keys and signatures are ssh-keygen's.
"""
