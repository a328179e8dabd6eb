"""The Worker of a viewer that draws with Device Workers.

Here: ClusterWorkerMain, the service of its role "render"; ClusterRendererGroup, which chooses who draws a scene.
Not here: drawing (cluster_renderer), everything else that a viewer's Worker does (workers.main).
"""

from pellucid.cluster.viewer.block_format import NAME, BlockFormat
from pellucid.cluster.viewer.cluster_file import ClusterFile
from pellucid.cluster.viewer.cluster_renderer import ClusterRenderer
from pellucid.cluster.viewer.gl_shading import is_glsl
from pellucid.device import choose
from pellucid.errors import InvalidInput
from pellucid.formats.plugins import add_plugin
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene
from pellucid.rendering.user_shading import UserShading
from pellucid.volume.open_files import OpenFiles
from pellucid.workers.channel import MessageChannel
from pellucid.workers.main import WorkerMain
from pellucid.workers.render.renderers import RendererGroup


class ClusterRendererGroup(RendererGroup):
    """Scenes of volumes in files are drawn by Device Workers; others, such as those with slices, in this process."""

    def __init__(self, cluster: ClusterFile, files: OpenFiles) -> None:
        super().__init__((choose("cpu"),), files)
        self.cluster = ClusterRenderer(cluster, files)

    @property
    def names(self) -> str:
        return f"{len(self.cluster.workers)} Device Workers"

    def of(self, scene: Scene) -> Renderer:
        return self.cluster if self.cluster.can_draw(scene) else super().of(scene)

    def add_shading(self, source: str) -> UserShading:
        if is_glsl(source):
            shading = UserShading(source)
            self.cluster.check_shader(shading)
        else:
            shading = super().add_shading(source)
        self.cluster.remember_shading(shading.hash, source)
        return shading


class ClusterWorkerMain(WorkerMain):
    """device: of a ClusterFile."""

    def __init__(self, line: MessageChannel, device: str | None) -> None:
        if not device:
            raise InvalidInput("The file with the Device Workers is missing.", remedy="Pass it as the device.")
        self._cluster = ClusterFile.of_device(device)
        add_plugin(NAME, BlockFormat())
        super().__init__(line, device)

    def make_renderers(self, device: str | None, files: OpenFiles) -> RendererGroup:
        return ClusterRendererGroup(self._cluster, files)
