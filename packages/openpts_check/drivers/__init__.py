"""Carries out the loads of a purpose beside the data of others: on files of its own, which it removes."""
