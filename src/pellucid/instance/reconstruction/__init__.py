"""Drafts of settings, slice previews, runs."""
