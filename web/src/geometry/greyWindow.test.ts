import { describe, expect, it } from "vitest";
import { LAYER, VOLUME } from "../testing/examples";
import { draggedWindow, opened, windowOf, withEnd } from "./greyWindow";

const OPTIONS = VOLUME.slice_options[0];

describe("the grey window", () => {
  it("is the chosen one, else what matters in the volume, else what the colours span", () => {
    expect(windowOf({ ...OPTIONS, window: [3, 4] }, VOLUME, LAYER)).toEqual([3, 4]);
    expect(windowOf(OPTIONS, VOLUME, { ...LAYER, histogram: { low: 10, high: 90, counts: [1] } })).toEqual([10, 90]);
    expect(windowOf(OPTIONS, VOLUME, { ...LAYER, histogram: null })).toEqual([0, 255]);
    expect(windowOf(OPTIONS, VOLUME, { ...LAYER, histogram: { low: 7, high: 7, counts: [1] } })).toEqual([0, 255]);
  });

  it("gets wider to the right, and darker downwards", () => {
    const [low, high] = draggedWindow([100, 200], 50, 0, 255);
    expect((low + high) / 2).toBeCloseTo(150);
    expect(high - low).toBeCloseTo(100 * Math.exp(0.3));
    expect(draggedWindow([100, 200], 0, 25, 255)).toEqual([110, 210]);
  });

  it("never closes", () => {
    const [low, high] = draggedWindow([100, 200], -1e5, 0, 1000);
    expect(high - low).toBeCloseTo(0.1);
    expect(withEnd([100, 200], "low", 300, 1000)[0]).toBeCloseTo(199.9);
    expect(withEnd([100, 200], "high", 150, 1000)).toEqual([100, 150]);
    expect(opened(5, 5)[1]).toBeGreaterThan(5);
    expect(opened(1, 2)).toEqual([1, 2]);
  });
});
