"""Processes that own a device: they draw, read and compute, and are replaced when they are lost."""
