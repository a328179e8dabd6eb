"""The Worker that runs users' code, which may crash, hang or take all memory."""
