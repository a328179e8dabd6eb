"""Datasets decoded on threads."""
