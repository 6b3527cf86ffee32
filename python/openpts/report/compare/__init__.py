"""The comparison of runs: its sets of runs, and the pages that show them."""
