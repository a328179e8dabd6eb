"""When to draw, how well, encoding and sending."""
