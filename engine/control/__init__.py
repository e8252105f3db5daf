"""The verbs of Evaltower, one interface for whoever asks: shell, scripts, screen."""
