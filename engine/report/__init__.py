"""A run as a page, an episode as a page or a video: from what is on disk, for others."""
