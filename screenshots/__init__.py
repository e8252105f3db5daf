"""Pictures of the control centre; ``python -m screenshots.make`` makes them anew."""
