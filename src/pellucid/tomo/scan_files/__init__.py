"""Scans from files."""
