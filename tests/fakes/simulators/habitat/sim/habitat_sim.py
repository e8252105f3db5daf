"""Stands where habitat-sim would be: nothing of it is used by the stand-in for habitat."""
