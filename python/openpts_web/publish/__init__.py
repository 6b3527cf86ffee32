"""Archives as a folder of pages and Parquet that a browser asks by itself: sources, merging, files.

Knows no server, no device and no engine.
"""
