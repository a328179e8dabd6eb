"""Filters, back projection, gridding, SIRT, CGLS."""
