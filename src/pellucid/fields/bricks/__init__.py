"""Volumes larger than device memory."""
