import { describe, expect, it } from "vitest";
import { LAYER } from "../testing/examples";
import { boxOrNone, extentOf, wholeOf } from "./extent";

describe("a volume in the world", () => {
  it("reaches half a voxel beyond the centres of its outermost voxels", () => {
    expect(extentOf(LAYER, null)).toEqual({ low: [-0.5, -1, -1.5], high: [29.5, 39, 28.5] });
  });
  it("is not clipped by a box as large as itself", () => {
    expect(boxOrNone(LAYER, wholeOf(LAYER))).toBeNull();
    expect(boxOrNone(LAYER, { start: [1, 0, 0], stop: [10, 20, 30] })).not.toBeNull();
  });
});
