"""Runs seen from outside: lists of them, a screen of one in progress, and the one signal that stops it.

Knows a run by its folder's ``events.jsonl`` and ``claim.jsonl``: it opens no record, and writes nothing.
"""
