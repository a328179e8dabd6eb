"""Users' shaders on blocks: images, errors, and images of several blocks as one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import exec_gpu, persist_gpu, recv_gpu, send_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.cluster.images.frames import ImagePlan, compose_frame
from pellucid.cluster.images.shader_images import draw_block_gl
from pellucid.cluster.shaders import exec_gl, init_gl
from pellucid.errors import InvalidInput, WorkerLost
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing.packing import NOTHING_THERE
from pellucid.rendering.scene import Scene, VolumeLayer
from tests.suite_report import MACHINE

pytestmark = pytest.mark.usefixtures("egl")
CUBE = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
TWICE = "void twice(In in, Out out, int z, int y, int x, const float* p) { out(z, y, x) = 2 * in(z, y, x); }"
CRASH = "void crash(In in, Out out, int z, int y, int x, const float* p) { *(volatile int*)8 = 1; }"
FLAT = "void main() { gl_Position = vec4(corner.xy * 2.0 - 1.0, 0.0, 1.0); }"
VALUE = "uniform vec3 place; void main() { color = vec4(voxel(place)); depth = 7.0; }"
SURFACE = """
uniform float least;
void main() {
    vec3 ray = ray_through(at), from = entry(at, ray);
    int steps = int(8.0 * distance(at, from)) + 1;
    for (int i = 0; i < steps; ++i)
        if (voxel(from + ray * (float(i) + 0.5) / 8.0) > least) { color = vec4(1.0); depth = 1.0; break; }
}
"""


SHAPE: Shape = (20, 24, 28)
MAX, RADIUS = 100.0, 9.0


@pytest.fixture(scope="module")
def egl() -> None:
    if MACHINE["no-egl"]():
        pytest.skip("needs EGL")


def pixel(block: DeviceBlock, at: tuple[float, float, float]) -> Voxels:
    """What a shader finds in a block at (x, y, z)."""
    image: Voxels = recv_gpu(exec_gl(block, vertex=FLAT, fragment=VALUE, size=(1, 2), uniforms={"place": at}))
    assert image.shape == (1, 2, 5)
    assert (image[0, 0] == image[0, 1]).all()
    found: Voxels = image[0, 0]
    return found


def test_what_opengl_is_here(group: WorkerGroup) -> None:
    block = init_gl(send_gpu(CUBE))
    assert block.handle
    assert set(block.value) == {"renderer", "version", "transfer"}
    assert block.value["transfer"] == "copied"
    assert (recv_gpu(block) == CUBE).all()


@example(seed=262143)  # uint8, between 97 and 98
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_shader_sees_the_values_of_a_block(group: WorkerGroup, seed: int) -> None:
    random = np.random.default_rng(seed)
    kind = random.choice(["u1", "i1", "u2", "i2", "i4", "f4", "f8"])
    voxels = random.integers(0, 100, triple(random.integers(1, 9, 3))).astype(kind)
    z, y, x = (int(random.integers(0, n)) for n in voxels.shape)
    found = pixel(send_gpu(voxels, halo=int(random.integers(0, 3))), (x, y, z))
    assert found.tolist() == pytest.approx([voxels[z, y, x]] * 4 + [7], rel=1e-5)
    if x:  # Between two voxels: the mean. Mesa mixes texels of 8 bits in 8 bits.
        expected = float(voxels[z, y, x - 1 : x + 1].astype(float).mean())
        rounding = 0.5001 if voxels.itemsize == 1 else 0.0
        assert pixel(send_gpu(voxels), (x - 0.5, y, z))[0] == pytest.approx(expected, rel=1e-5, abs=rounding)


def test_shaders_run_after_functions_in_one_round_trip_and_on_every_version(group: WorkerGroup) -> None:
    before = group.links.round_trips
    twice = exec_gpu(send_gpu(CUBE), source=TWICE, function="twice")
    assert pixel(twice, (1, 0, 0))[0] == 2
    assert group.links.round_trips == before + 1
    # A block that is kept has a texture of its own: what has another handle is not taken for it.
    first, second = persist_gpu(send_gpu(CUBE)), persist_gpu(send_gpu(CUBE + 1))
    for block, value in ((first, 0), (second, 1), (first, 0)):
        assert block.handle
        assert pixel(block, (0, 0, 0))[0] == value


def test_rows_and_columns(group: WorkerGroup) -> None:
    gradient = "void main() { color = vec4(gl_FragCoord.xy, 0.0, 1.0); }"
    image = recv_gpu(exec_gl(send_gpu(CUBE), vertex=FLAT, fragment=gradient, size=(3, 2)))
    assert image[..., 0].tolist() == [[0.5, 1.5]] * 3
    assert image[..., 1].tolist() == [[2.5, 2.5], [1.5, 1.5], [0.5, 0.5]]  # The first row is the upper one.
    nothing = recv_gpu(exec_gl(send_gpu(CUBE), vertex=FLAT, fragment="void main() { }", size=(3, 2)))
    assert (nothing[..., :4] == 0).all()
    assert (nothing[..., 4] == np.float32(NOTHING_THERE)).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fragment": "void main() {\n  color = vec4(x);\n}"}, r"Line 2 of the fragment shader: `x' undeclared"),
        ({"fragment": "#version 450\n\nvoid main() { color = 1; }"}, r"Line 3 of the fragment shader"),
        ({"vertex": "void main() {\n\n  gl_Position = 1.0;\n}"}, r"Line 3 of the vertex shader"),
        ({"fragment": "float other() { return 1.0; }"}, r"shade"),
        ({"uniforms": {"place": 1.0}}, r"The uniform 'place' of the shaders does not take 1 numbers"),
        ({"uniforms": {"place": "abc"}}, r"The uniform 'place' is not a number"),
        ({"size": (0, 5)}, r"Invalid size of an image"),
    ],
)
def test_errors_name_what_is_wrong(group: WorkerGroup, changed: dict[str, Any], message: str) -> None:
    arguments = {"vertex": FLAT, "fragment": VALUE, "size": (2, 2), **changed}
    for _ in range(2):  # A driver explains a failure once; the message stays.
        with pytest.raises(InvalidInput, match=message):
            recv_gpu(exec_gl(send_gpu(CUBE), **arguments))


def test_after_a_crash_opengl_starts_again(group: WorkerGroup) -> None:
    block = persist_gpu(send_gpu(CUBE))
    assert pixel(block, (1, 0, 0))[0] == 1
    with pytest.raises(WorkerLost):
        recv_gpu(exec_gpu(block, source=CRASH, function="crash"))
    assert pixel(block, (1, 0, 0))[0] == 1


def closeness() -> Voxels:
    """Of every voxel to the middle of the volume."""
    axes = [np.arange(n) - (n - 1) / 2 for n in SHAPE]
    distances: Voxels = np.sqrt(sum(one**2 for one in np.meshgrid(*axes, indexing="ij")))
    return (MAX - distances).astype(np.float32)


def sphere_seen(camera: Camera, width: int, height: int, radius: float) -> Voxels:
    """Which rays of a camera meet a sphere in the middle of the volume."""
    origins, directions = camera.rays(width, height)
    to_middle = np.array([(n - 1) / 2 for n in SHAPE[::-1]]) - origins
    along = (to_middle * directions).sum(-1, keepdims=True)
    return np.asarray(np.linalg.norm(to_middle - along * directions, axis=-1) < radius)


@pytest.mark.parametrize("cuts", [1, 2])
@pytest.mark.parametrize("field_of_view", [30.0, None])
@pytest.mark.parametrize("position", [(13.0, 12.0, 90.0), (70.0, -30.0, -20.0)])
def test_a_surface_in_blocks_is_where_the_camera_sees_it(
    group: WorkerGroup, cuts: int, field_of_view: float | None, position: tuple[float, float, float]
) -> None:
    camera = Camera(position, (13.5, 11.5, 9.5), field_of_view_deg=field_of_view, height=30.0)
    plan = ImagePlan(Scene((VolumeLayer("memory:any"),), camera), 72, 60, SHAPE)
    edges, voxels = triple(n // cuts for n in SHAPE), closeness()
    blocks = {}
    for place in np.ndindex(cuts, cuts, cuts):
        box = Box.whole(edges).shift(triple(k * n for k, n in zip(place, edges, strict=True)))
        blocks[triple(place)] = persist_gpu(send_gpu(np.ascontiguousarray(voxels[box.slices]), halo=1))
    halos = plan_halos({place: (block.handle, edges) for place, block in blocks.items()})
    images = []
    for place, block in blocks.items():
        start = triple(k * n for k, n in zip(place, edges, strict=True))
        filled = append_halo(block, halos[place])
        images.append(draw_block_gl(filled, start, plan, fragment=SURFACE, uniforms={"least": (MAX - RADIUS,)}))
    frame = compose_frame(images, plan)
    is_seen = np.isfinite(frame.depth)
    inside, around = (sphere_seen(camera, 72, 60, radius) for radius in (RADIUS - 0.25, RADIUS + 0.25))
    assert inside.sum() > 200
    assert is_seen[inside].all()
    assert not is_seen[~around].any()
