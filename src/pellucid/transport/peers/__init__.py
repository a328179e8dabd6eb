"""Connections that stay open between processes that hold arrays: parts of arrays are pulled without a handshake."""
