"""A run or an episode as one file for others."""
