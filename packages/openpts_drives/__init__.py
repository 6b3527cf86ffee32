"""ATA, SCSI and NVMe drives: purge methods, health, listing, file systems made for a test."""
