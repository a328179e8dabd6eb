"""Background work and its results."""
