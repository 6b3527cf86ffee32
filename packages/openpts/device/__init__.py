"""Block devices as sysfs shows them: the write cache, what is sampled, and a folder for each further subject.

Knows no test and no engine. Only ``guard/`` opens a device for writing.
"""
