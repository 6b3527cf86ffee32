"""Purge methods of ATA, SCSI and NVMe drives."""
