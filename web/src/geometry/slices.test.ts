import { describe, expect, it } from "vitest";
import { middle, NAMES, placeOf, stepped, voxelAt, type Voxel } from "./slices";

const SHAPE: Voxel = [10, 20, 40];

describe("slices", () => {
  it.each(NAMES)("across %s: the middle of a voxel is in that voxel", (axis) => {
    const voxel: Voxel = [3, 7, 31];
    const { u, v } = placeOf(axis, voxel, SHAPE);
    expect(voxelAt(axis, u, v, voxel, SHAPE)).toEqual(voxel);
  });

  it("across z have y downwards", () => expect(voxelAt("z", 0, 0.99, [5, 0, 0], SHAPE)).toEqual([5, 19, 0]));
  it("across y have z upwards", () => expect(voxelAt("y", 0, 0.99, [5, 4, 0], SHAPE)).toEqual([0, 4, 0]));
  it("across x have y to the right", () => expect(voxelAt("x", 0.99, 0, [5, 4, 8], SHAPE)).toEqual([9, 19, 8]));
  it("stop at the last one", () => expect(stepped("z", [8, 1, 1], 5, SHAPE)).toEqual([9, 1, 1]));
  it("begin in the middle", () => expect(middle(SHAPE)).toEqual([5, 10, 20]));
  it("stay inside", () => expect(voxelAt("z", 1.2, -0.3, [0, 0, 0], SHAPE)).toEqual([0, 0, 39]));
});
