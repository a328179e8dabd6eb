"""The child of a Device Worker: everything that computes on blocks runs in it."""
