"""Windows of volumes for PyTorch's DataLoader: read where they lie, or stored as tensors."""
