"""Show an array in a browser, change the view from Python, and get an image and voxels back."""

from contextlib import suppress

import numpy as np

import pellucid as pl

with pl.start() as viewer:  # a separate process, which stops at the end of this block
    print("open in a browser:", viewer.url, flush=True)  # works once

    z, y, x = np.ogrid[-1:1:64j, -1:1:64j, -1:1:64j]
    shell = np.exp(-20 * (np.sqrt(x**2 + y**2 + z**2) - 0.7) ** 2)
    viewer.render_volume(shell.astype(np.float32), spacing=(0.5, 0.5, 0.5), unit="mm")

    viewer.shading = "occlusion"
    viewer.camera = viewer.camera.orbited(azimuth_deg=30, elevation_deg=15)
    image = viewer.screenshot(320, 240)
    print("image", image.shape, image.dtype, "brightest", int(image[..., :3].max()))

    middle = viewer.retrieve_volume(pl.Box((32, 0, 0), (33, 64, 64)))
    print("middle slice unchanged:", bool(np.array_equal(middle, shell[32:33].astype(np.float32))))

    with suppress(EOFError, KeyboardInterrupt):
        input("Press Enter to stop the viewer. ")
