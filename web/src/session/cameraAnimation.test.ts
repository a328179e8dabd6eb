import { expect, it } from "vitest";
import { distance, length, subtract } from "../geometry/vector";
import { SCENE } from "../testing/examples";
import { between, isOpposite } from "./cameraAnimation";

it("begins here, ends there, and keeps its distance on the way", () => {
  const from = SCENE.camera;
  const to = { ...from, position: [4, 0, 0] as const };
  expect(distance(between(from, to, 0).position, from.position)).toBeLessThan(1e-12);
  expect(distance(between(from, to, 1).position, to.position)).toBeLessThan(1e-12);
  const half = between(from, to, 0.5);
  expect(length(subtract(half.position, half.target))).toBeCloseTo(4, 12);
});

it("does not move through the target", () => {
  expect(isOpposite(SCENE.camera, { ...SCENE.camera, position: [0, 0, -4] })).toBe(true);
  expect(isOpposite(SCENE.camera, { ...SCENE.camera, position: [4, 0, 0] })).toBe(false);
});
