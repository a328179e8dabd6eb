"""Scene to Frame: what to draw kept apart from how."""
