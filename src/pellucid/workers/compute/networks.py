"""Networks on volumes that are shown: labels are written to an array of the instance, what is seen first.

Here: NetworkRuns, the requests ApplyNetwork and SetFocus.
Not here: windows and their order (infer), the layer that shows the labels (instance.scene.network_layers).
"""

from typing import TYPE_CHECKING

from pellucid.box import Box
from pellucid.engines.stopping import stopping_when
from pellucid.errors import InvalidInput
from pellucid.infer.job import NetworkFile
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.network_files.transforms import ValueTransform
from pellucid.infer.priority.focus import BlockQueue, Focus
from pellucid.infer.priority.visible_first import VisibleRun
from pellucid.workers.protocol import replies, requests
from pellucid.workers.protocol.announcements import VoxelsChanged
from pellucid.workers.service import ReceivedRequest

if TYPE_CHECKING:
    from pellucid.workers.role_service import RoleService


class NetworkRuns:
    """Of one Worker: networks run one after the other."""

    def __init__(self, service: "RoleService") -> None:
        self._service = service
        self._focus: dict[str, Focus] = {}
        self._queues: dict[str, BlockQueue] = {}

    def apply(self, received: ReceivedRequest) -> None:
        service, requested = self._service, received.content
        target = service.sources.handed(requested.target)
        if target is None:
            raise InvalidInput("The labels were closed.", remedy="Apply the network again.")
        volume = service.sources.volume(requested.source, requested.time)
        with stopping_when(received.cancel.is_set):
            run = VisibleRun.open(
                volume, _file(requested), target.array, threshold=requested.threshold, device=service.device or "auto"
            )
            self._queues[requested.target] = run.queue
            try:
                run.queue.set_focus(self._focus.get(requested.target, Focus()))
                run.run(lambda box: self._finished(requested.target, box))
            finally:
                del self._queues[requested.target]
                self._focus.pop(requested.target, None)
        service.send_reply(replies.Done(requested.request))

    def set_focus(self, requested: requests.SetFocus) -> None:
        """For a run that waits for its turn, too."""
        self._focus[requested.target] = focus = Focus(requested.cross_hair, requested.eye, requested.box)
        queue = self._queues.get(requested.target)
        if queue is not None:
            queue.set_focus(focus)

    def _finished(self, target: str, box: Box) -> None:
        self._service.announce(VoxelsChanged(target, (box,)))


def _file(requested: requests.ApplyNetwork) -> NetworkFile:
    before, after = (tuple(map(ValueTransform.parse, texts)) for texts in (requested.preprocess, requested.postprocess))
    return NetworkFile(requested.network, NetworkForm(requested.axes, requested.halo, before, after))
