"""What can be sampled in a kernel."""
