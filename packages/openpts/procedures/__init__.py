"""The tests: a folder for each, what they share, and the registry, which alone names all of them.

A script yields what to do and receives samples; it knows no engine, device, file or page.
"""
