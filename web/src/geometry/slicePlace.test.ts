import { describe, expect, it } from "vitest";
import type { SliceRectangle, Transform } from "../protocol";
import { LAYER } from "../testing/examples";
import { extentOfSlice, fromWorld, inWorld, onSlice, stepped, voxelAt, voxelInWorld } from "./slicePlace";

const PLACED: Transform = { scale: [2, -1, 0.5], rotation_deg: [20, -30, 50], translation: [3, -2, 5] };
const PLACE: SliceRectangle = { origin: [0, 0, 4], right: [10, 0, 0], down: [0, 5, 0], step: [0, 0, 2], is_along_voxels: true };

describe("places of a slice", () => {
  it("are positions in the world, and back", () => {
    expect(inWorld(PLACE, 0.3, 0.8)).toEqual([3, 4, 4]);
    const { u, v, away } = onSlice(PLACE, [3, 4, 7]);
    expect([u, v, away]).toEqual([0.3, 0.8, 1.5]);
  });

  it("are voxels of a layer, wherever it stands", () => {
    const voxel = [1, 2, 3] as const;
    const position = voxelInWorld(LAYER, PLACED, voxel);
    expect(voxelAt(LAYER, PLACED, position)).toEqual(voxel);
    const own = fromWorld(PLACED, position);
    expect(own[0]).toBeCloseTo(3 * (LAYER.spacing[2] ?? 1), 9);
  });

  it("stop at the last slice", () => expect(stepped("y", [0, 1, 2], 99, [4, 6, 8])).toEqual([0, 5, 2]));

  it("are as wide as their voxels", () => {
    const { width, height } = extentOfSlice("z", LAYER, { ...PLACED, scale: [2, 1, 1] });
    expect(width).toBeCloseTo((LAYER.shape[2] ?? 1) * (LAYER.spacing[2] ?? 1) * 2, 9);
    expect(height).toBeCloseTo((LAYER.shape[1] ?? 1) * (LAYER.spacing[1] ?? 1), 9);
  });
});
