"""Whether a drive locks itself: what it reports in the level 0 discovery of the Trusted Computing Group.

Only asks; the state is that of the moment.
"""
