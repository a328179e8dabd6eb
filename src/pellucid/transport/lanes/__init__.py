"""The ways bytes can take, one module each, behind one protocol."""
