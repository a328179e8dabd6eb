"""Neural fields trained from volumes, with PyTorch."""

from pellucid.device.torch_cache import use_private_torch_cache

use_private_torch_cache()
