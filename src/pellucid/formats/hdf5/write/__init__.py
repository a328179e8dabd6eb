"""Volumes written so that a kill loses nothing."""
