"""Colour maps and presets, built in and from files."""
