"""What the log browser knows and says of one episode. No widgets."""
