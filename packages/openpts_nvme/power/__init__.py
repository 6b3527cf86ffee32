"""Power of a drive from whatever meters it: the drive itself, sensors of the host, Quarch's meters.

Sources give watts in pieces of equal samples; windows over them are OCP's. Knows no run: what a run has of
it comes by the power command and by a gauge.
"""
