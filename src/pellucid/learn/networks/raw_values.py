"""A network that takes the voxel values of a volume as they are.

Here: RawValues, which scales values before and after a network.
Not here: the network.

The scaling is a part of what is exported: the ONNX file alone gives the right result.
"""

from torch import Tensor, nn


class RawValues(nn.Module):
    """mean, std: of the volume, which become 0 and 1 for the network. end: sigmoid or softmax for probabilities; None
    to scale the output back to values of the volume; "none" to leave it as it is."""

    def __init__(self, network: nn.Module, mean: float, std: float, end: str | None = None) -> None:
        super().__init__()
        self.network, self._gain, self._offset = network, 1.0 / std, -mean / std
        self._back = (std, mean) if end is None else None
        self.end = {"sigmoid": nn.Sigmoid(), "softmax": nn.Softmax(dim=1)}.get(end or "", nn.Identity())

    def forward(self, x: Tensor) -> Tensor:
        x = self.end(self.network(x * self._gain + self._offset))
        return x if self._back is None else x * self._back[0] + self._back[1]
