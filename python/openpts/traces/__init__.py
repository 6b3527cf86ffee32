"""Traces of block I/O: what is asked of them, and what comes of it; Rust reads and writes them."""
