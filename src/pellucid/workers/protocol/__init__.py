"""Requests to a Worker, and its replies."""
