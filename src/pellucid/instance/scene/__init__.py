"""The Scene, its revisions and layers, saved states, slice views."""
