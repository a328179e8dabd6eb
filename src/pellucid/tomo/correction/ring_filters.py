"""Ring removal by filters: wavelets with a damped Fourier transform (Münch), and regularisation (Titarenko).

Here: both methods on a device, and the coefficients of Daubechies' wavelets.
Not here: the algorithms that look for bad columns (rings).

Wavelets are periodic, which makes every level orthogonal and half as large; sinograms are filled up by mirroring to a
length that can be halved so often.
"""

from functools import cache

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.device import Array, Device, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.scan import Floats

VANISHING_MOMENTS = 5


def remove_regularized(sinograms: Array, strength: float, device: Device) -> Array:
    """Subtract from every view the stripes that make the mean over the views rough (Titarenko).

    The stripes q of a mean m minimise |D(m - q)|² + strength |q|², D being the difference of neighbours.
    """
    from pellucid.tomo.kernels import ring_filters as kernels

    room, (slices, views, columns) = primitives(device), sinograms.shape
    means = room.empty((slices, columns), np.float64)
    launch(kernels.mean_columns, (columns, slices), inputs=[sinograms], outputs=[means], device=device)
    stripes = room.to_device(stripes_of(room.to_host(means), strength).astype(np.float32))
    cleaned = room.empty(sinograms.shape, np.float32)
    inputs = [stripes, sinograms]
    launch(kernels.subtract_columns, (views, slices, columns), inputs=inputs, outputs=[cleaned], device=device)
    return cleaned


def stripes_of(means: Floats, strength: float) -> Floats:
    """Solve (DᵀD + strength) q = DᵀD m for every row of m.

    >>> stripes_of(np.array([[1.0, 0.0, 0.0]]), 1e-9).round(3).tolist()
    [[0.667, -0.333, -0.333]]
    """
    if strength <= 0:
        raise InvalidInput(
            f"Invalid ring-removal strength {strength}.", remedy="Use a positive value, for example 0.05."
        )
    columns = means.shape[1]
    diagonal = np.full(columns, 2.0)
    diagonal[0] = diagonal[-1] = 1.0
    steps = np.diff(means, axis=1)
    rough = np.diff(np.pad(-steps, ((0, 0), (1, 1))), axis=1)
    bands = np.stack([np.full(columns, -1.0), diagonal + strength, np.full(columns, -1.0)])
    return np.asarray(scipy.linalg.solve_banded((1, 1), bands, rough.T).T)


def remove_wavelet(sinograms: Array, level: int, sigma: float, device: Device) -> Array:
    """Damp, level by level, the low frequencies along the views in the details across the columns (Münch).

    sigma: of the Gaussian notch, in the frequencies of each level.
    """
    from pellucid.tomo.kernels import ring_filters as kernels

    room, (slices, views, columns) = primitives(device), sinograms.shape
    unit = 1 << level
    if level < 1 or min(views, columns) < unit:
        raise InvalidInput(
            f"Sinograms of {views} x {columns} are too small for {level} levels.", remedy="Use fewer levels."
        )
    padded = room.empty((slices, -(-views // unit) * unit, -(-columns // unit) * unit), np.float32)
    shape = (padded.shape[1], slices, padded.shape[2])
    launch(kernels.extend, shape, inputs=[sinograms], outputs=[padded], device=device)
    filtered = _without_stripes(padded, level, sigma, device)
    cleaned = room.empty(sinograms.shape, np.float32)
    launch(kernels.crop, (views, slices, columns), inputs=[filtered], outputs=[cleaned], device=device)
    return cleaned


def _without_stripes(values: Array, level: int, sigma: float, device: Device) -> Array:
    """One level of the transform, the rest of it inside, and back."""
    if level == 0:
        return values
    low, across = _split(values, device, along_views=False)
    smooth, along = _split(low, device, along_views=True)
    stripes, corners = _split(across, device, along_views=True)
    stripes = _damped(stripes, sigma, device)
    smooth = _without_stripes(smooth, level - 1, sigma, device)
    low = _join(smooth, along, device, along_views=True)
    across = _join(stripes, corners, device, along_views=True)
    return _join(low, across, device, along_views=False)


def _split(values: Array, device: Device, *, along_views: bool) -> tuple[Array, Array]:
    from pellucid.tomo.kernels import ring_filters as kernels

    room, (slices, views, columns) = primitives(device), values.shape
    shape = (slices, views // 2, columns) if along_views else (slices, views, columns // 2)
    low, high = room.empty(shape, np.float32), room.empty(shape, np.float32)
    inputs = [room.to_device(wavelet_taps(VANISHING_MOMENTS)), along_views, values]
    launch(kernels.split, (shape[1], slices, shape[2]), inputs=inputs, outputs=[low, high], device=device)
    return low, high


def _join(low: Array, high: Array, device: Device, *, along_views: bool) -> Array:
    from pellucid.tomo.kernels import ring_filters as kernels

    room, (slices, views, columns) = primitives(device), low.shape
    shape = (slices, 2 * views, columns) if along_views else (slices, views, 2 * columns)
    values = room.empty(shape, np.float32)
    inputs = [room.to_device(wavelet_taps(VANISHING_MOMENTS)), along_views, low, high]
    launch(kernels.join, (shape[1], slices, shape[2]), inputs=inputs, outputs=[values], device=device)
    return values


def _in_rows(spectrum: Array) -> Array:
    """The same with its last axis together in memory: a transform along another one may leave it scattered on CUDA."""
    return spectrum if spectrum.flags.c_contiguous else spectrum.copy()


def _damped(stripes: Array, sigma: float, device: Device) -> Array:
    from pellucid.tomo.kernels import ring_filters as kernels

    room, (slices, views, columns) = primitives(device), stripes.shape
    spectrum = _in_rows(room.fft(stripes, axes=(1,)))
    frequencies = np.fft.fftfreq(views, 1 / views)
    gains = room.to_device((1 - np.exp(-(frequencies**2) / (2 * sigma**2))).astype(np.float32))
    numbers = spectrum.view(np.float32)
    launch(kernels.damp, (views, slices, 2 * columns), inputs=[gains], outputs=[numbers], device=device)
    kept = room.empty(stripes.shape, np.float32)
    back = _in_rows(room.ifft(spectrum, axes=(1,))).view(np.float32).reshape(slices, views, columns, 2)
    launch(kernels.take_real, (views, slices, columns), inputs=[back], outputs=[kept], device=device)
    return kept


@cache
def wavelet_taps(moments: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Scaling filter and wavelet of Daubechies with so many vanishing moments, by factoring its polynomial.

    >>> np.round(2 * wavelet_taps(1) ** 2, 6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    binomials = [float(scipy.special.comb(moments - 1 + k, k)) for k in range(moments)]
    roots = np.roots(binomials[::-1])
    # y = (2 - z - 1/z) / 4: of the two z for every root, the one inside the unit circle.
    middle = 1 - 2 * roots
    inside = middle + np.sqrt(middle**2 - 1 + 0j)
    inside = np.where(np.abs(inside) < 1, inside, 1 / inside)
    polynomial = np.array([1.0 + 0j])
    for root in [*([-1.0] * moments), *inside]:
        polynomial = np.convolve(polynomial, [1.0, -root])
    scaling = polynomial.real * np.sqrt(2) / polynomial.real.sum()
    signs = (-1.0) ** np.arange(len(scaling))
    return np.stack([scaling, signs * scaling[::-1]]).astype(np.float32)
