"""The first view of a volume, points or a mesh."""
