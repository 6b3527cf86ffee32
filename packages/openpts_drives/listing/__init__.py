"""All drives of this machine, as `openpts devices` shows them.

Wakes no drive, waits for none without a limit, and writes to none.
"""
