"""PyTorch modules of users, drawn as fields: any that map points in [-1, 1]³ to values."""
