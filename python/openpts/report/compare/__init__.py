"""The comparison of runs: who stands beside whom, and the pages that show it."""
