import { describe, expect, it } from "vitest";
import { FITTED, inPanel, inSlice, panned, pixelsPerUnit, regionOf, zoomedAt } from "./sliceView";

const PANEL = { width: 400, height: 200 };
const EXTENT = { width: 30, height: 60 };

describe("the part of a slice that is in sight", () => {
  it("is all of it at first, in the middle", () => {
    const region = regionOf(FITTED, PANEL, EXTENT);
    expect(inPanel(region, 0.5, 0.5)).toEqual([0.5, 0.5]);
    expect(inPanel(region, 0, 0)[1]).toBeCloseTo(0.03, 9);
    expect((region[2] - region[0]) * EXTENT.width * pixelsPerUnit(FITTED, PANEL, EXTENT)).toBeCloseTo(400, 9);
  });

  it("keeps what is under the pointer, and comes back", () => {
    const near = zoomedAt(FITTED, 3, 0.45, 0.6, PANEL, EXTENT);
    expect(near.scale).toBe(3);
    const before = inSlice(regionOf(FITTED, PANEL, EXTENT), 0.45, 0.6);
    const after = inSlice(regionOf(near, PANEL, EXTENT), 0.45, 0.6);
    expect(after[0]).toBeCloseTo(before[0], 9);
    expect(after[1]).toBeCloseTo(before[1], 9);
  });

  it("follows a finger by as many pixels", () => {
    const moved = panned(FITTED, 10, -20, PANEL, EXTENT);
    const [x, y] = inPanel(regionOf(moved, PANEL, EXTENT), 0.5, 0.5);
    expect(x * 400).toBeCloseTo(210, 9);
    expect(y * 200).toBeCloseTo(80, 9);
  });

  it("never loses all of it", () => expect(panned(FITTED, 1e6, 0, PANEL, EXTENT).x).toBe(0));
});
