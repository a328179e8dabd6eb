"""How voxels are read from a hardware texture, as C++ that kernels' functions hold.

Here: the text, for CUDA alone; on the CPU it is empty, for no grid is a texture there.
Not here: voxels in plain memory (sampling), writing textures (texture_kernels), owning them (textures).

The texture unit interpolates with weights of 8 bits: a sample is off by at most 1/512 of the difference between two
voxels. Where that would show, on the place and slope of an isosurface, a grid is read ``exactly`` (sampling): eight
texels, whose own values are exact, and weights in full.
"""

# Voxels of 8 and 16 bits come as numbers from 0 to 1; signed ones were stored with their lowest value as 0, because the
# hardware would read the two lowest as -1 both.
FACTOR = "(kind < 2 ? 255.0f : kind < 4 ? 65535.0f : 1.0f)"
OFFSET = "(kind == 1 ? -128.0f : kind == 3 ? -32768.0f : 0.0f)"

_TEXEL = f"""
    const int kind = grid.kind & 7;
    const float factor = {FACTOR}, offset = {OFFSET};
    auto texel = [&](float x, float y, float z) -> float {{ return tex3D<float>(grid.voxels, x, y, z); }};
"""

_READ = (
    _TEXEL
    + """
    auto exact = [&](float x, float y, float z) -> float {
        const float i = floorf(x - 0.5f) + 0.5f, j = floorf(y - 0.5f) + 0.5f, k = floorf(z - 0.5f) + 0.5f;
        const float u = x - i, v = y - j, w = z - k;
        auto along = [&](float b, float c) -> float {
            const float first = texel(i, b, c);
            return first + (texel(i + 1.0f, b, c) - first) * u;
        };
        auto plane = [&](float c) -> float {
            const float first = along(j, c);
            return first + (along(j + 1.0f, c) - first) * v;
        };
        const float first = plane(k);
        return first + (plane(k + 1.0f) - first) * w;
    };
    auto read = [&](float x, float y, float z) -> float { return grid.kind < 16 ? texel(x, y, z) : exact(x, y, z); };
"""
)

_PLACE = """
    const float x = at[0] * grid.scale[0] + grid.shift[0], y = at[1] * grid.scale[1] + grid.shift[1],
                z = at[2] * grid.scale[2] + grid.shift[2];
"""

_INSIDE = """
    auto inside = [&](int axis) -> float {
        return fminf(fmaxf(at[axis] * grid.scale[axis] + grid.shift[axis], grid.low[axis]), grid.high[axis]);
    };
    const float x = inside(0), y = inside(1), z = inside(2);
"""

_SLOPE = """
    const float gx = read(x + 1.0f, y, z) - read(x - 1.0f, y, z), gy = read(x, y + 1.0f, z) - read(x, y - 1.0f, z);
    const float gz = read(x, y, z + 1.0f) - read(x, y, z - 1.0f);
    return wp::vec3(gx * grid.scale[0], gy * grid.scale[1], gz * grid.scale[2]) * (0.5f * factor);
"""


def where_textured(text: str) -> str:
    """The text, for grids that are textures."""
    return f"\n#if defined(__CUDA_ARCH__)\n    if (grid.kind >= 8) {{ {text} }}\n#endif\n"


def _always(text: str, otherwise: str) -> str:
    return f"\n#if defined(__CUDA_ARCH__)\n{text}\n#else\n    return {otherwise};\n#endif\n"


VALUE = where_textured(f"{_READ}{_PLACE}    return read(x, y, z) * factor + offset;")
GRADIENT = where_textured(f"{_READ}{_INSIDE}{_SLOPE}")
VOXEL = (
    _TEXEL
    + """
    auto voxel = [&](int x, int y, int z) -> float {
        const float stored = texel(x + 0.5f, y + 0.5f, z + 0.5f) * factor;
        return (kind < 4 ? rintf(stored) : stored) + offset;
    };
"""
)

RAW_ALWAYS = _always("    return tex3D<float>(texture, at[0], at[1], at[2]);", "0.0f")
GRADIENT_ALWAYS = _always(f"{_TEXEL}    auto read = texel;{_INSIDE}{_SLOPE}", "wp::vec3()")
