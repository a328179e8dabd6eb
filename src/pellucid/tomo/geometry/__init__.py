"""Rotation axis, tilt, offset scans."""
