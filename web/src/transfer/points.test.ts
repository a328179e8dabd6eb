import { describe, expect, it } from "vitest";
import { areAlike, evenly, fromHex, gradient, hex, levelAt, mixColors, mixNumbers, withMoved, withoutPoint, withPoint, type OpacityPoint } from "./points";

const RAMP: OpacityPoint[] = [[0.2, 0], [0.6, 0.8], [1, 1]];

describe("control points", () => {
  it.each([
    [0, 0],
    [0.4, 0.4],
    [0.6, 0.8],
    [0.8, 0.9],
    [1, 1],
  ])("has at %s the level %s", (position, level) => expect(levelAt(RAMP, position, mixNumbers)).toBeCloseTo(level, 12));

  it("steps where two points share a position", () => {
    const step: OpacityPoint[] = [[0, 0], [0.5, 0], [0.5, 1], [1, 1]];
    expect(levelAt(step, 0.4999, mixNumbers)).toBe(0);
    expect(levelAt(step, 0.5, mixNumbers)).toBe(1);
  });

  it("adds in order and says where", () => {
    expect(withPoint(RAMP, 0.7, 0.1)).toEqual([[[0.2, 0], [0.6, 0.8], [0.7, 0.1], [1, 1]], 2]);
  });

  it("stops a point at its neighbours", () => {
    expect(withMoved(RAMP, 1, 5, 0.3)[1]).toEqual([1, 0.3]);
    expect(withMoved(RAMP, 1, 0, 0.3)[1]).toEqual([0.2, 0.3]);
    expect(withMoved(RAMP, 0, -1, 0)[0]).toEqual([0, 0]);
  });

  it("keeps two points", () => {
    const two = withoutPoint(RAMP, 1);
    expect(two).toEqual([[0.2, 0], [1, 1]]);
    expect(withoutPoint(two, 0)).toEqual(two);
  });

  it("mixes colours", () => expect(mixColors([0, 0, 1], [1, 0, 0], 0.25)).toEqual([0.25, 0, 0.75]));
  it("writes and reads hex", () => expect(hex(fromHex("#12ab7f"))).toBe("#12ab7f"));
  it("spreads a map's colours evenly", () => expect(evenly([[0, 0, 0], [1, 1, 1]], 0.2).map(([at]) => at)).toEqual([0.2, 1]));
  it("are alike up to the last digits", () => {
    expect(areAlike([[0, [0, 0, 0]]], [[1e-9, [0, 1e-9, 0]]])).toBe(true);
    expect(areAlike([[0, [0, 0, 0]]], [[0, [0, 0.01, 0]]])).toBe(false);
    expect(areAlike([], [[0, [0, 0, 0]]])).toBe(false);
  });
  it("draws one colour as a gradient too", () => expect(gradient([[0, [1, 0, 0]]])).toContain("rgb(255 0 0) 0.00%, rgb(255 0 0)"));
});
