"""The user's files: listing, inspection, routes."""
