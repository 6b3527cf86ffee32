"""The path to a drive: link, queue, settings, kernel threads, and all links up to the processor.

Reads what the kernel shows and sends the drive no command; knows no test and no engine.
"""
