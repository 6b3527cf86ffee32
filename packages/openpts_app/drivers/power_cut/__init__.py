"""Power cuts: stamped writers, the operator's command, the read-back."""
