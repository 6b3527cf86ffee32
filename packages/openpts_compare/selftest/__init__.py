"""The instrument proves itself: each check knows beforehand what has to come out, and from elsewhere."""
