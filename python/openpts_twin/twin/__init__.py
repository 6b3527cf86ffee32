"""A drive's twin: a preset fitted to runs of a drive, and what it predicts of tests that were not run.

What was measured (``evidence``) is measured again on candidates (``replay``): the same steps in the same
order, in virtual time. ``parameters`` are what may differ between candidates, ``start`` computes where to
begin, ``search`` finds the rest, ``twin_file`` keeps it, ``predict`` uses it.
"""
