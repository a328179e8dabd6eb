"""Requests, records and supervision of viewers and tasks."""
