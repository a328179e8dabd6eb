"""Networks as files: ONNX, its signature, its receptive field, and what it says of values."""
