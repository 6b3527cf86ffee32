"""Plan files, those that ship, and their schema, made from the fields of tests' conditions; contradictions.

Knows no test by name, no device, no engine, and no files but plans and descriptions.
"""
