import { describe, expect, it } from "vitest";
import { directionsOf, middle, placeOf, stepped, voxelAt, type Voxel } from "./slices";

const SHAPE: Voxel = [10, 20, 40];
const [Z, Y, X] = [
  directionsOf({ across: "z", down: "y", right: "x" }),
  directionsOf({ across: "y", down: "z", right: "x" }),
  directionsOf({ across: "x", down: "-z", right: "y" }),
];

describe("slices", () => {
  it.each([Z, Y, X])("the middle of a voxel is in that voxel", (directions) => {
    const voxel: Voxel = [3, 7, 31];
    const { u, v } = placeOf(directions, voxel, SHAPE);
    expect(voxelAt(directions, u, v, voxel, SHAPE)).toEqual(voxel);
  });

  it("run along their axes", () => {
    expect(voxelAt(Z, 0, 0.99, [5, 0, 0], SHAPE)).toEqual([5, 19, 0]);
    expect(voxelAt(Y, 0, 0.99, [5, 4, 0], SHAPE)).toEqual([9, 4, 0]);
    expect(voxelAt(X, 0.99, 0.99, [5, 4, 8], SHAPE)).toEqual([0, 19, 8]);
  });
  it("stop at the last one", () => expect(stepped(Z, [8, 1, 1], 5, SHAPE)).toEqual([9, 1, 1]));
  it("begin in the middle", () => expect(middle(SHAPE)).toEqual([5, 10, 20]));
  it("stay inside", () => expect(voxelAt(Z, 1.2, -0.3, [0, 0, 0], SHAPE)).toEqual([0, 0, 39]));
});
