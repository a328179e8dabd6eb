"""Denoising scans with a network that learns from the scan itself (Noise2Inverse)."""
