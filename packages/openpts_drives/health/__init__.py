"""The drive's own log of its health: NVMe, ATA and SCSI, under one set of names.

Guesses nothing, and changes nothing on the drive.
"""
