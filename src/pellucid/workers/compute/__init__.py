"""The Worker that computes: networks on volumes that are shown."""
