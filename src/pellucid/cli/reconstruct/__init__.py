"""pellucid reconstruct."""
