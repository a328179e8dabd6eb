"""Phantoms and simulated scans."""
