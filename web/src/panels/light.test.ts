import { expect, it } from "vitest";
import { anglesOf, changesTo, directionOf, kindOf } from "./light";

it("straight from above points down", () => expect(directionOf({ azimuth: 0, elevation: 90 })[1]).toBe(-1));

it.each(["camera", "headlight", "fixed"] as const)("a light that was made a %s is one", (kind) => {
  const light = Object.fromEntries(changesTo(kind).map(({ path, value }) => [path[1], value]));
  expect(kindOf({ direction: null, camera_direction: [1, 0, 0], ...light })).toBe(kind);
});

it("the light that moves with the camera comes from above left", () => {
  const change = changesTo("camera").find(({ path }) => path[1] === "camera_direction");
  const { azimuth, elevation } = anglesOf(change?.value as [number, number, number]);
  expect(azimuth).toBeLessThan(-20);
  expect(elevation).toBeGreaterThan(20);
});

it.each([[0, 0], [35, 45], [-120, -30]])("goes there and back (%s, %s)", (azimuth, elevation) => {
  const angles = anglesOf(directionOf({ azimuth, elevation }));
  expect(angles.azimuth).toBeCloseTo(azimuth, 9);
  expect(angles.elevation).toBeCloseTo(elevation, 9);
});
