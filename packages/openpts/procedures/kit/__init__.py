"""What a test is: ``Procedure``, the ledger's rules, the header of its pages, the spread of repeats in words.

Knows no test by name.
"""
