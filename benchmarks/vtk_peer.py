"""The same image by VTK: its CPU ray caster, and its GPU ray caster on whatever OpenGL there is.

Here: a function that renders a frame off screen, for the render benchmark.
Not here: the table (render).
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.scene import Scene


def vtk_frame(voxels: Voxels, scene: Scene, size: int, mapper_name: str, threads: int) -> Callable[[], Voxels]:
    """A function that draws the scene's only volume, unlit or lit, and returns its pixels (size, size, 3)."""
    # Off screen by EGL: without a screen the default window ends the process.
    os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")
    import vtk

    mapper = getattr(vtk, mapper_name)()
    mapper.SetInputData(_image(vtk, voxels))
    mapper.SetSampleDistance(scene.step)
    mapper.SetAutoAdjustSampleDistances(0)
    if hasattr(mapper, "SetNumberOfThreads"):
        mapper.SetNumberOfThreads(threads)
        mapper.SetInteractiveSampleDistance(scene.step)
        mapper.SetImageSampleDistance(1.0)
    volume = vtk.vtkVolume()
    volume.SetMapper(mapper)
    volume.SetProperty(_property(vtk, scene))
    window = _window(vtk, volume, scene, size)

    def draw() -> Voxels:
        # A new camera every time, by the width of a hair: VTK does not draw again what has not changed.
        camera = window.GetRenderers().GetFirstRenderer().GetActiveCamera()
        camera.Azimuth(1e-6)
        window.Render()
        return _pixels(vtk, window, size)

    draw()
    return draw


def _image(vtk: Any, voxels: Voxels) -> Any:
    from vtk.util.numpy_support import numpy_to_vtk

    image = vtk.vtkImageData()
    image.SetDimensions(*voxels.shape[::-1])
    image.GetPointData().SetScalars(numpy_to_vtk(np.ascontiguousarray(voxels).ravel(), deep=True))
    return image


def _property(vtk: Any, scene: Scene) -> Any:
    (layer,) = scene.volumes
    low, high = layer.transfer.value_range
    colors, opacities = vtk.vtkColorTransferFunction(), vtk.vtkPiecewiseFunction()
    for at, rgb in layer.transfer.colors:
        colors.AddRGBPoint(low + at * (high - low), *rgb)
    for at, opacity in layer.transfer.opacities:
        opacities.AddPoint(low + at * (high - low), opacity)
    look = vtk.vtkVolumeProperty()
    look.SetColor(colors)
    look.SetScalarOpacity(opacities)
    look.SetInterpolationTypeToLinear()
    if layer.shading == "none":
        look.ShadeOff()
    else:
        look.ShadeOn()
    return look


def _window(vtk: Any, volume: Any, scene: Scene, size: int) -> Any:
    renderer, window = vtk.vtkRenderer(), vtk.vtkRenderWindow()
    renderer.AddVolume(volume)
    camera = renderer.GetActiveCamera()
    camera.SetPosition(*scene.camera.position)
    camera.SetFocalPoint(*scene.camera.target)
    camera.SetViewUp(*scene.camera.up)
    camera.SetViewAngle(scene.camera.field_of_view_deg)
    renderer.ResetCameraClippingRange()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(0)
    window.AddRenderer(renderer)
    window.SetSize(size, size)
    return window


def _pixels(vtk: Any, window: Any, size: int) -> Voxels:
    from vtk.util.numpy_support import vtk_to_numpy

    grab = vtk.vtkUnsignedCharArray()
    window.GetRGBACharPixelData(0, 0, size - 1, size - 1, 0, grab)
    pixels: Voxels = vtk_to_numpy(grab).reshape(size, size, 4)[::-1, :, :3]
    return pixels
