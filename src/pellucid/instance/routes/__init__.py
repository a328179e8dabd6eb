"""The HTTP side of an instance, one module for each kind of thing."""
