"""The command `io`: one load from its options, measured like a step of a test."""
