"""How voxels are divided on a device (cells that rays skip, bricks that are loaded), and how large a network may be.

Here: the numbers that host code and kernels share.
Not here: either of the two.
"""

VOXEL_KINDS = {"uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "float16": 4, "float32": 5}

TEXTURED = 8
"""Added to a kind: the voxels are a hardware texture."""

EXACT = 16
"""Added to the kind of a texture: it is read with weights in full, not with the hardware's of 8 bits."""

STORED_AS = {"uint32": "float32", "int32": "float32", "uint64": "float32", "int64": "float32", "float64": "float32"}
"""8- and 16-bit voxels stay as they are on the device; wider ones are drawn as float32."""

CELL = 8
"""Voxels along the edge of a cell of the occupancy grid."""

LOWEST = -3.4e38
"""What a cell says of voxels that are no number, or below everything."""

BYTES_PER_CELL = 9
"""Two float32 for its range, one byte for whether it is visible."""

BRICK_SHIFT = 5
BRICK = 1 << BRICK_SHIFT
"""Voxels along the edge of a brick, without its apron; a multiple of CELL, so that a cell lies in one brick."""

APRON = 2
"""Voxels of the neighbours around a brick: one for values between voxels, one more for gradients."""

PADDED = BRICK + 2 * APRON

HIDDEN = 64
"""Hidden units of a neural field's decoder that kernels have room for."""

MAX_PAIRS = 32
"""Pairs of features of a point that they have room for."""

MAX_WIDTH = 128
"""Features of a point that the kernel for every kind of neural field has room for."""
