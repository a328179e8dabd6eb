"""The training loop, and what keeps and shows its state."""
