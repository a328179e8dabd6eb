"""Arrays from programs: HTTP upload, transport, Unix socket, live streams."""
