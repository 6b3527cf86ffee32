"""What `openpts gate` adds to limits: its report, its documents, and what relative limits can find."""
