"""Several runs on this host: tests in turn on a drive, or drives side by side; which, and on what processors.

Of several drives each is tested by a process of its own, and nothing here knows the test.
"""
