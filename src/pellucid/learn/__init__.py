"""Training networks on volumes: denoising, segmentation, super-resolution. Needs PyTorch."""

from pellucid.device.torch_cache import use_private_torch_cache

use_private_torch_cache()
