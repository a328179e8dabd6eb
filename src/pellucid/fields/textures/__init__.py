"""CUDA textures."""
