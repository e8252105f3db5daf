"""Images in pixels, on a terminal that draws them: encoders, and what stands on the terminal."""
