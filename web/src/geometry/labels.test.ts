import { expect, it } from "vitest";
import type { Labels } from "../protocol";
import { allShown, areAllShown, automaticColor, isDrawn, isolating, labelName, toggled, withLabel } from "./labels";

const PLAIN: Labels = { opacity: 0.5, colors: [], isolated: [], is_mask: false };

it("gives a label the colour that the renderer gives it", () => {
  // From pellucid.rendering.labels.automatic_colors.
  const known: [number, number[]][] = [
    [1, [0.273056, 0.950976, 0.204536]],
    [2, [0.901951, 0.387983, 0.585137]],
    [7, [0.856829, 0.138902, 0.004763]],
    [300_000, [0.859975, 0.39245, 0.682432]],
    [-1, [0.849024, 0.540483, 0.241904]],
  ];
  for (const [label, color] of known) {
    for (const [channel, expected] of color.entries()) expect(automaticColor(label)[channel]).toBeCloseTo(expected, 5);
  }
});

it("names a label, and lists it only while it has something of its own", () => {
  const named = withLabel(PLAIN, 7, { name: "nucleus" });
  expect(labelName(named, 7)).toBe("nucleus");
  expect(labelName(named, 8)).toBe("Label 8");
  expect(withLabel(named, 7, { name: "" }).colors).toEqual([]);
});

it("hides, isolates and shows labels", () => {
  const hidden = toggled(PLAIN, 7);
  expect([isDrawn(hidden, 7), isDrawn(hidden, 8)]).toEqual([false, true]);
  const alone = isolating(hidden, 7);
  expect([isDrawn(alone, 7), isDrawn(alone, 8)]).toEqual([true, false]);
  expect(isolating(alone, 7).isolated).toEqual([]);
  expect(toggled(alone, 8).isolated).toEqual([7, 8]);
  expect(areAllShown(alone)).toBe(false);
  expect(allShown(withLabel(alone, 9, { name: "wall" }))).toEqual({ ...PLAIN, colors: [{ label: 9, color: null, opacity: null, name: "wall", is_visible: true }] });
});
