"""Sampling, cell ranges, empty-space skipping."""
