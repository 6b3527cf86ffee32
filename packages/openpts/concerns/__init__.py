"""What surrounds a run of the core's own: each joins it by ``openpts.hooks``, and no other room knows it."""
