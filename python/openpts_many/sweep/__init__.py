"""Many simulated runs over a range of parameters, each computed once.

Does not know how anything is shown.
"""
