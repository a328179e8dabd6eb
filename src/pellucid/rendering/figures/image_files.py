"""Images as files that know how large they are printed, and what they show.

Here: PNG and TIFF with their resolution and their scene; the scene of such a file; sizes in centimetres as pixels.
Not here: drawing (renderer), images without any of it (frame).
"""

import io
import json
import re
from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.formats.local_files import written_whole
from pellucid.formats.protocol import Voxels
from pellucid.rendering.scene import Scene

KEY = "pellucid:scene"
KINDS = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF"}
DESCRIPTION, SOFTWARE = 270, 305
"""Tags of a TIFF."""
MAX_SCENE_BYTES = 2**20
CM_PER = {"cm": 1.0, "mm": 0.1, "in": 2.54}
SIZE = re.compile(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)(px|cm|mm|in)?")
MAX_DPI = 10_000


def pixel_size(text: str, dpi: float) -> tuple[int, int]:
    """Pixels across and down of a size such as 1920x1080, 17x12cm, 170x120mm or 7x5in.

    >>> pixel_size("1920x1080", 300), pixel_size("8.5x6cm", 300)
    ((1920, 1080), (1004, 709))
    """
    found = SIZE.fullmatch(text.strip().lower())
    if not found or not 1 <= dpi <= MAX_DPI:
        remedy = "Use WIDTHxHEIGHT in pixels, or with cm, mm or in, such as 17x12cm, and 1 to 10000 dpi."
        raise InvalidInput(f"Invalid image size: {text} at {dpi:g} dpi.", remedy=remedy)
    factor = dpi / 2.54 * CM_PER[found[3]] if found[3] in CM_PER else 1.0
    width, height = (round(float(found[i]) * factor) for i in (1, 2))
    if min(width, height) < 1:
        raise InvalidInput(
            f"An image of {text} at {dpi:g} dpi has no pixels.", remedy="Use a larger size, or more dpi."
        )
    return width, height


def encode_figure(pixels: Voxels, kind: str, dpi: float | None = None, scene: Scene | None = None) -> bytes:
    """(height, width[, 3 or 4]) uint8 as a PNG or TIFF. kind: PNG or TIFF; dpi: pixels per inch of paper; scene: what
    it shows, to open it again."""
    from PIL import Image, PngImagePlugin

    options: dict[str, object] = {} if dpi is None else {"dpi": (dpi, dpi)}
    if kind == "PNG":
        text = PngImagePlugin.PngInfo()
        text.add_text("Software", "Pellucid")
        if scene is not None:
            text.add_itxt(KEY, json.dumps(json.loads(scene.to_json())))
        options["pnginfo"] = text
    else:
        options["compression"] = "tiff_deflate"
        described = {} if scene is None else {DESCRIPTION: json.dumps({KEY: json.loads(scene.to_json())})}
        options["tiffinfo"] = {SOFTWARE: "Pellucid", **described}
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def save_figure(pixels: Voxels, path: Path, dpi: float | None = None, scene: Scene | None = None) -> None:
    """Write a PNG or TIFF in one step; as encode_figure."""
    if path.suffix.lower() not in KINDS:
        raise InvalidInput(f"{path} is not a figure.", remedy="Use a name that ends in .png or .tif.")
    with written_whole(path) as file:
        file.write(encode_figure(pixels, KINDS[path.suffix.lower()], dpi, scene))


def scene_in_image(path: str | Path) -> Scene | None:
    """What an image shows that save_figure or the page wrote; None where it does not say."""
    from PIL import Image

    if Path(path).suffix.lower() not in KINDS:
        return None
    try:
        with Image.open(path) as image:
            if image.format == "PNG":
                text = getattr(image, "text", {}).get(KEY)
            else:
                text = _described(getattr(image, "tag_v2", {}).get(DESCRIPTION))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    return Scene.from_json(str(text)) if text and len(text) <= MAX_SCENE_BYTES else None


def _described(description: object) -> str | None:
    """The scene in a TIFF's description."""
    if not isinstance(description, str) or not description.startswith(f'{{"{KEY}"'):
        return None
    return json.dumps(json.loads(description)[KEY])
