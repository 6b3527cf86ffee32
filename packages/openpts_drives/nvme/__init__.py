"""What NVMe drives alone have."""
