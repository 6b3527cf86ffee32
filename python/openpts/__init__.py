"""openpts measures what a solid-state drive really does once it has settled."""
