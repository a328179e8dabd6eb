"""The session: a Scene that people change, and the thread that draws it.

Here: revisions, the latest camera, when a small picture is wanted and when the exact one.
Not here: drawing (rendering), sockets (connection).

Only the latest wish is kept: whatever arrives while a picture is being drawn replaces what was waiting. A picture that
has begun is finished, because a kernel that runs cannot be stopped.
"""

import io
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from PIL import Image

from pellucid.errors import InvalidInput, PellucidError
from pellucid.instance.edits import patched, settings_of
from pellucid.instance.pace import Pace, Size
from pellucid.instance.protocol import Changed, Encoding, FrameHeader, Patch, Picture, Refusal, Welcome
from pellucid.rendering.camera import Camera
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene

REST_S = 0.3
"""How long nothing has to change before the exact picture is drawn, unless the page says that it is at rest."""
JPEG_QUALITY = 85
log = logging.getLogger(__name__)

Told = Picture | Changed | Refusal
Listener = Callable[[Told], None]


@dataclass(frozen=True)
class Wish:
    """What the next picture should show. number grows with every change."""

    scene: Scene
    revision: int = 0
    size: Size = (1280, 720)
    number: int = 0
    rest_at_s: float = 0.0

    @property
    def is_at_rest(self) -> bool:
        return time.monotonic() >= self.rest_at_s


class Session:
    """Owns a Scene and tells its listeners of every picture and change. Methods may be called from any thread."""

    def __init__(self, scene: Scene, renderer: Renderer) -> None:
        self._renderer = renderer
        self._wish = Wish(scene)
        self._shown = self._exact = -1  # Numbers of the last wish drawn at all, and drawn exactly.
        self._pace = Pace()
        self._listeners: list[Listener] = []
        self._is_closed = False
        self._state = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="pellucid-session", daemon=True)

    @property
    def scene(self) -> Scene:
        return self._wish.scene

    @property
    def revision(self) -> int:
        return self._wish.revision

    @property
    def device(self) -> str:
        return self._renderer.device.name

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread; a picture that has begun is finished first."""
        with self._state:
            self._is_closed = True
            self._state.notify()
        if self._thread.is_alive():
            self._thread.join()

    def join(self, listener: Listener, size: Size) -> Welcome:
        """Add a listener, whose size counts from now on; it is sent the exact picture."""
        with self._state:
            self._listeners.append(listener)
            self._want(replace(self._wish, size=size), rest_s=0.0)
            wish = self._wish
        return Welcome(wish.revision, settings_of(wish.scene), wish.scene.camera)

    def leave(self, listener: Listener) -> None:
        with self._state:
            self._listeners = [one for one in self._listeners if one != listener]

    def look(self, camera: Camera, is_moving: bool) -> None:
        with self._state:
            scene = replace(self._wish.scene, camera=camera)
            self._want(replace(self._wish, scene=scene), rest_s=REST_S if is_moving else 0.0)

    def resize(self, size: Size) -> None:
        with self._state:
            self._want(replace(self._wish, size=size), rest_s=REST_S)

    def apply(self, patch: Patch) -> None:
        """Change the scene; a patch against another revision than the present one is refused."""
        with self._state:
            wish = self._wish
            if patch.revision != wish.revision:
                what = f"The scene has changed since: this patch is for revision {patch.revision}, not {wish.revision}."
                raise InvalidInput(what, do="Look at the scene as it is now, and change it again.")
            scene = patched(wish.scene, patch)
            self._want(replace(wish, scene=scene, revision=wish.revision + 1), rest_s=REST_S)
            changed = Changed(self._wish.revision, settings_of(scene))
        self._tell(changed)

    def refusal(self, error: PellucidError) -> Refusal:
        return Refusal(error.what, error.do, self.revision)

    def _want(self, wish: Wish, rest_s: float) -> None:
        self._wish = replace(wish, number=wish.number + 1, rest_at_s=time.monotonic() + rest_s)
        self._state.notify()

    def _run(self) -> None:
        while (wanted := self._next()) is not None:
            wish, is_exact = wanted
            try:
                self._tell(self._draw(wish, is_exact))
            except PellucidError as error:
                self._tell(self.refusal(error))
            except Exception:
                # The edge of the thread: without this, one bad picture would end the viewer.
                log.exception("a picture could not be drawn")
                do = "Change the view or the settings; the terminal where the viewer was started says more."
                self._tell(Refusal("The picture could not be drawn.", do, self.revision))

    def _next(self) -> tuple[Wish, bool] | None:
        """Wait for something to draw, and whether exactly; None when the session is closed."""
        with self._state:
            while not self._is_closed:
                wish, is_at_rest = self._wish, self._wish.is_at_rest
                last = self._exact if is_at_rest else self._shown
                if self._listeners and last != wish.number:
                    # Noted before it is drawn: a picture that fails must not be tried for ever.
                    self._shown = wish.number
                    self._exact = wish.number if is_at_rest else self._exact
                    return wish, is_at_rest
                self._state.wait(None if is_at_rest else max(wish.rest_at_s - time.monotonic(), 0.0))
        return None

    def _draw(self, wish: Wish, is_exact: bool) -> Picture:
        started = time.perf_counter()
        width, height = wish.size if is_exact else self._pace.affordable(wish.size)
        frame = self._renderer.render(wish.scene, width, height, is_exact=is_exact)
        rendered = time.perf_counter()
        self._pace.measured((width, height), rendered - started)
        encoding: Encoding = "png" if is_exact else "jpeg"
        encoded = encode(frame, encoding)
        times = {"render": rendered - started, "encode": time.perf_counter() - rendered}
        full = frame.statistics.full_resolution
        header = FrameHeader(wish.revision, wish.scene.camera, width, height, encoding, is_exact, times, full)
        return Picture(header, encoded)

    def _tell(self, told: Told) -> None:
        with self._state:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(told)


def encode(frame: Frame, encoding: Encoding) -> bytes:
    """A frame's colours as a JPEG or a (lossless) PNG."""
    stream = io.BytesIO()
    picture = Image.fromarray(frame.rgba).convert("RGB")
    if encoding == "png":
        picture.save(stream, "png", compress_level=1)
    else:
        # Small pictures are shown enlarged: colours at half the resolution would show as blocks.
        picture.save(stream, "jpeg", quality=JPEG_QUALITY, subsampling="4:4:4")
    return stream.getvalue()
