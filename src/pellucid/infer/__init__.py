"""Networks on volumes of any size, in overlapping windows: ONNX Runtime, without PyTorch."""
