import { expect, it } from "vitest";
import { LAYER, VOLUME } from "../testing/examples";
import { flipped, shownSpacing, withSpacing } from "./placement";
import { voxelInWorld } from "./slicePlace";

const middle = [4.5, 9.5, 14.5] as const;

it("changes a spacing around the middle", () => {
  const next = withSpacing(LAYER, VOLUME.transform, 2, 6);
  expect(shownSpacing(LAYER, next)).toEqual([1, 2, 6]);
  expect(voxelInWorld(LAYER, next, middle)).toEqual(voxelInWorld(LAYER, VOLUME.transform, middle));
});

it("reverses an axis in its own place, and back", () => {
  const next = flipped(LAYER, VOLUME.transform, 0);
  expect(voxelInWorld(LAYER, next, [0, 0, 0])).toEqual([29, 0, 0]);
  expect(flipped(LAYER, next, 0)).toEqual(VOLUME.transform);
  expect(shownSpacing(LAYER, next)).toEqual([1, 2, 3]);
});
