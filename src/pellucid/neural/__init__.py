"""Neural fields trained from volumes, with PyTorch."""
