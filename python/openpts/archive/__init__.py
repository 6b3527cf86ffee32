"""Finished runs as Parquet files for queries over thousands of them."""
