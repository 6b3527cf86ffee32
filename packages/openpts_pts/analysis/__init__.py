"""Statistics that only tests of the specification use."""
