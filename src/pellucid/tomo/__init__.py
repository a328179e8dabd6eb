"""From a scan to a volume."""
