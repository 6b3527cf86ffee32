"""A simulated drive that is served by NVMe over TCP, for tests."""
