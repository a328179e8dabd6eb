"""Cinematic images: paths of light followed through a scene by chance, on one device."""
