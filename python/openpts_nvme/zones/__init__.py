"""Zones of a drive: what the test of zones asks for is done here, by ioctls and plain writes."""
