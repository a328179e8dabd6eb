"""Statistics of a volume are NumPy's, whatever its type, and without the voxels that are not numbers."""

import numpy as np
import pytest

from pellucid.infer.statistics import measure_statistics
from pellucid.volume.volume import Volume


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_mean_and_deviation_are_numpys(dtype: str) -> None:
    voxels = (100 + 20 * np.random.default_rng(0).standard_normal((70, 40, 30))).astype(dtype)
    expected = voxels.astype(np.float64)
    if dtype == "float32":
        voxels[::9], voxels[1, 2] = np.nan, np.inf
        expected = voxels[np.isfinite(voxels)].astype(np.float64)
    found = measure_statistics(Volume.from_array(voxels))
    assert (found.mean, found.std) == pytest.approx((expected.mean(), expected.std()), rel=1e-9)
