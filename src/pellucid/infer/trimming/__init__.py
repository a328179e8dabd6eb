"""Computing only what is kept of a window."""
