"""Several runs on this host: an executor for tests in turn and one for drives side by side; which drives, on what.

Of several drives each is tested by a process of its own, and nothing here knows the test.
"""
