import { expect, it } from "vitest";
import { anglesOf, directionOf } from "./light";

it("straight from above points down", () => expect(directionOf({ azimuth: 0, elevation: 90 })[1]).toBe(-1));

it.each([[0, 0], [35, 45], [-120, -30]])("goes there and back (%s, %s)", (azimuth, elevation) => {
  const angles = anglesOf(directionOf({ azimuth, elevation }));
  expect(angles.azimuth).toBeCloseTo(azimuth, 9);
  expect(angles.elevation).toBeCloseTo(elevation, 9);
});
