"""The catalogue of requirements and the judge; the tests that prove what is built in, reasons for the rest.

Knows no script, no device and no engine: a record is judged by the specification's own numbers.
"""
