"""PyTorch in one thread: small tensors gain nothing from more, and threads that wait keep a busy machine busier."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
