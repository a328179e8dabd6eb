"""The render thread and what it uses."""
