"""Training networks on volumes: denoising, segmentation, super-resolution. Needs PyTorch."""
