"""Viewers from Python and notebooks: start them, connect to them, send them data, control them."""
