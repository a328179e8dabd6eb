"""Viewers whose volumes are on Device Workers."""
