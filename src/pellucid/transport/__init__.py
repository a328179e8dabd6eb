"""Arrays between processes and machines."""
