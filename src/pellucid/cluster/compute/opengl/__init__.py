"""Shaders on blocks: OpenGL in the child of a Device Worker."""
