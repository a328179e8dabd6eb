"""Scans from files: one module for each kind, and open_scan for all of them."""
