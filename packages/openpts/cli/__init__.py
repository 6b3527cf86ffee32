"""The command line: arguments to orders; events to text, or to typed documents for programs.

May use every room; no room uses it.
"""
