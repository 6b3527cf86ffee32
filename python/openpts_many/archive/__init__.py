"""Finished runs as Parquet files for queries over thousands of them: tables, catalogue, checks, questions.

Knows no device, no engine and not how anything is shown.
"""
