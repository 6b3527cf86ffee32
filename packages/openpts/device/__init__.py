"""Block devices as sysfs and their own commands show them: identity, path, cache, locking, targets, purges.

Knows no test and no engine. Only ``guard/`` opens a device for writing.
"""
