import { expect, it } from "vitest";
import { directed, placed, towardsHigher } from "./transform";
import { distance } from "./vector";

const TRANSFORM = { scale: [2, 1, 1] as const, rotation_deg: [0, 0, 90] as const, translation: [10, 0, 0] as const };

it("scales, then turns, then moves", () => {
  expect(distance(placed(TRANSFORM, [1, 0, 0]), [10, 2, 0])).toBeLessThan(1e-12);
  expect(distance(directed(TRANSFORM, [0, 1, 0]), [-1, 0, 0])).toBeLessThan(1e-12);
});

it("turns about x first", () => {
  const turned = directed({ ...TRANSFORM, scale: [1, 1, 1], rotation_deg: [90, 0, 90] }, [0, 1, 0]);
  expect(distance(turned, [0, 0, 1])).toBeLessThan(1e-12);
});

it("points to higher indices of a volume that is mirrored along x", () => {
  expect(towardsHigher([1, 0, 0], [-2, 1, 1])).toEqual([-1, 0, 0]);
  expect(distance(towardsHigher([0, 0, -1], [-2, 1, 1]), [0, 0, -1])).toBe(0);
});
