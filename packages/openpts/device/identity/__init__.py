"""What a drive is: model, serial number, capacity, interface, media, slot, each with its source.

Guesses nothing, and writes to no drive.
"""
