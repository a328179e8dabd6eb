"""The same bytes through WebSockets of a web proxy."""
