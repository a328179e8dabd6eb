import { expect, it } from "vitest";
import { LAYER } from "../testing/examples";
import { orientationFacts, spacingFacts, volumeFacts, withChannel } from "./LayersSection";

it("names a channel in the source", () => {
  expect(withChannel("scan.h5:/entry/data", 2)).toBe("scan.h5:/entry/data:c=2");
  expect(withChannel("scan.h5:c=0:t=3", 1)).toBe("scan.h5:t=3:c=1");
});

it("tells the facts in x, y, z", () => {
  expect(volumeFacts(LAYER)).toBe("30 × 20 × 10 (x, y, z) · uint8");
  expect(spacingFacts(LAYER, null)).toBe("spacing 1 × 2 × 3 (x, y, z) µm");
  expect(orientationFacts({ ...LAYER, orientation: "RAS (x right, y anterior, z superior); origin (1, 2, 3)" })).toBe("RAS");
  expect(orientationFacts({ ...LAYER, orientation: "x right, y front, z down; origin (0, 0, 0)" })).toBe("x right, y front, z down");
});
