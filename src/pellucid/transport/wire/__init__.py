"""Messages, handshake, pieces, one transfer."""
