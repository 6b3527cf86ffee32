"""Questions about a disk in use: a folder for each purpose, with figures held against published bounds."""
