"""Networks in PyTorch, and their way to ONNX and back."""
