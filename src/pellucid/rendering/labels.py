"""Labels: whole numbers that name objects, and their colours.

Here: Labels, its automatic colours, and baking them into the table that kernels read.
Not here: voxels that hold labels (fields.labels), colours for values (transfer).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.number_checks import check_shares

Color = tuple[float, float, float]

MAX_LISTED = 4096
"""Labels that have a colour or name of their own."""
GOLDEN = 0x9E3779B97F4A7C15
"""2⁶⁴ divided by the golden ratio: hues of labels that follow each other lie a golden angle apart."""
BESIDE, ABOVE = 0xC13FA9A902A6328F, 0x91E10DA5C79E7B1D
"""2⁶⁴ divided by the plastic number and by its square: what spreads brightness and saturation just as evenly."""
FIRST_HUE = 0.7
"""Of all turns of the circle of hues, the one at which the first 16 labels are furthest apart."""


@dataclass(frozen=True)
class LabelColor:
    """How one label is drawn. color: None for the automatic colour; opacity: None for the opacity of all labels. name:
    of the object, for the list and the legend."""

    label: int
    color: Color | None = None
    opacity: float | None = None
    name: str = ""
    is_visible: bool = True

    def __post_init__(self) -> None:
        check_shares(f"The colour of label {self.label}", *(self.color or ()))


@dataclass(frozen=True)
class Labels:
    """One colour for each label, never mixed between labels.

    opacity: of one voxel of any label except 0, which is not drawn. colors: exceptions; label 0 is drawn too if it has
    an opacity here. isolated: where it is not empty, only these labels are drawn, hidden ones among them too. is_mask:
    instead of the labels, values of other volumes are drawn where labels would be, and nowhere else; 0 is such a label
    too where it is isolated.
    """

    opacity: float = 0.5
    colors: tuple[LabelColor, ...] = ()
    isolated: tuple[int, ...] = ()
    is_mask: bool = False

    def __post_init__(self) -> None:
        if max(len(self.colors), len(self.isolated)) > MAX_LISTED:
            what = f"{max(len(self.colors), len(self.isolated)):,} labels have a colour or name, or are isolated."
            raise InvalidInput(what, remedy=f"Use at most {MAX_LISTED:,}.")
        if len({one.label for one in self.colors}) < len(self.colors):
            raise InvalidInput("A label has two colours.", remedy="Use one LabelColor for each label.")
        given = [one.opacity for one in self.colors if one.opacity is not None]
        if not all(0 <= opacity <= 1 for opacity in (self.opacity, *given)):
            raise InvalidInput("Invalid opacity of a label.", remedy="Use 0 (invisible) to 1 (opaque).")

    def table(self, labels: Voxels, step: float) -> Voxels:
        """(n, 4) float32 for n labels: red, green, blue, and the opacity of ``step`` voxels of material.

        >>> Labels(1.0, (LabelColor(7, (1.0, 0.0, 0.0)),)).table(np.array([0, 7]), 1.0)[:, 3].tolist()
        [0.0, 1.0]
        """
        table = np.empty((len(labels), 4), np.float32)
        table[:, :3] = automatic_colors(labels)
        table[:, 3] = np.where(labels == 0, 0.0, self.opacity)
        self._apply_exceptions(table, labels)
        if self.isolated:
            table[~np.isin(labels.astype(np.int64), _wrapped(self.isolated)), 3] = 0.0
        table[:, 3] = 1 - (1 - table[:, 3].astype(float)) ** step
        return table

    def mask_table(self, labels: Voxels) -> Voxels:
        """(n, 4) float32 for n labels: opaque where values are drawn.

        >>> Labels(isolated=(0, 7), is_mask=True).mask_table(np.array([0, 3, 7]))[:, 3].tolist()
        [1.0, 0.0, 1.0]
        """
        table = replace(self, opacity=1.0).table(labels, 1.0)
        table[:, 3] = table[:, 3] > 0
        table[(labels == 0) & (0 in self.isolated), 3] = 1.0
        return table

    def _apply_exceptions(self, table: Voxels, labels: Voxels) -> None:
        """Look each exception up among the labels, of which there may be many."""
        names = labels.astype(np.int64)
        order = np.argsort(names, kind="stable")
        listed, names = _wrapped([one.label for one in self.colors]), names[order]
        first, last = np.searchsorted(names, listed, "left"), np.searchsorted(names, listed, "right")
        for one, start, stop in zip(self.colors, first, last, strict=True):
            where = order[start:stop]
            if one.color is not None:
                table[where, :3] = one.color
            if one.opacity is not None:
                table[where, 3] = one.opacity
            if not (one.is_visible or one.label in self.isolated):
                table[where, 3] = 0.0

    def with_label(self, label: int, **changes: Any) -> "Labels":
        """The labels with a colour, opacity, name or visibility of one of them changed.

        >>> Labels().with_label(7, name="nucleus").colors[0].name
        'nucleus'
        """
        listed = {one.label: one for one in self.colors}
        listed[label] = replace(listed.get(label, LabelColor(label)), **changes)
        plain = LabelColor(label)
        return replace(self, colors=tuple(one for one in listed.values() if one.label != label or one != plain))


def _wrapped(labels: Iterable[int]) -> Voxels:
    """As int64, of which labels from 2⁶³ on are the negative half."""
    return np.array([(label + 2**63) % 2**64 - 2**63 for label in labels], np.int64)


def automatic_colors(labels: Voxels) -> Voxels:
    """(n, 3): the same colour for a label wherever it is met; those of labels that follow each other differ most."""
    hue, saturation, brightness = (_spread(labels, factor) for factor in (GOLDEN, ABOVE, BESIDE))
    value = 0.8 + 0.2 * brightness
    least = value * (0.5 - 0.5 * saturation)
    sector = ((hue[:, None] + FIRST_HUE) * 6 + np.array([0.0, 4.0, 2.0])) % 6
    share = np.clip(np.abs(sector - 3) - 1, 0, 1)
    colors: Voxels = least[:, None] + (value - least)[:, None] * share
    return colors


def _spread(labels: Voxels, factor: int) -> Voxels:
    """From 0 to 1, evenly over any row of labels that follow each other."""
    with np.errstate(over="ignore"):
        turned = labels.astype(np.int64).astype(np.uint64) * np.uint64(factor)
    spread: Voxels = (turned >> np.uint64(40)) / 2.0**24
    return spread
