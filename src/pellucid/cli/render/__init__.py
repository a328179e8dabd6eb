"""pellucid render."""
