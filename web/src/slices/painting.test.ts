import { describe, expect, it } from "vitest";
import { LAYER, VOLUME } from "../testing/examples";
import { brushRadius, nextRadius } from "./painting";

describe("the brush", () => {
  it("is round in the world: its radius counts the finest voxels", () => {
    const painted = { index: 0, layer: { ...VOLUME, transform: { ...VOLUME.transform, scale: [2, 1, 1] as const } }, description: LAYER };
    expect(brushRadius(painted, 3)).toBe(6);
  });
  it("grows and shrinks within limits", () => {
    expect([nextRadius(0.5, 1), nextRadius(10, 1), nextRadius(0.5, -1), nextRadius(128, 1)]).toEqual([1, 12, 0.5, 128]);
  });
});
